// The port over node-redis. It never sends a command twice by itself, so the user's own client is
// used as it is; its user connects it and closes it.

import type { RedisPort } from "./redis-port.js";
import { ConnectionFailure, untilReady } from "./until-ready.js";

/** What of node-redis is used. */
interface NodeRedis {
  readonly isOpen: boolean;
  readonly isReady?: boolean;
  /** Only a cluster has it. */
  readonly masters?: readonly { client?: NodeRedis }[];
  evalSha(sha1: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
  eval(source: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
  info?(): Promise<string>;
  nodeClient?(node: unknown): Promise<NodeRedis>;
  on(event: string, listener: (...args: unknown[]) => void): void;
  once(event: string, listener: (...args: unknown[]) => void): void;
  off(event: string, listener: (...args: unknown[]) => void): void;
}

/** The port over a client, cluster or Sentinel of node-redis. */
export function nodeRedisPort(client: unknown): RedisPort {
  return new NodeRedisPort(client as NodeRedis);
}

class NodeRedisPort implements RedisPort {
  readonly isCluster: boolean;
  readonly #client: NodeRedis;
  readonly #failure = new ConnectionFailure();
  readonly #stopListening: () => void;

  constructor(client: NodeRedis) {
    this.isCluster = typeof client.nodeClient === "function";
    this.#client = client;
    // An error event without a listener would end the process; failures show in answers.
    this.#stopListening = this.#failure.listenTo(client);
  }

  get reason(): string | undefined {
    return this.#failure.reason;
  }

  get isReady(): boolean {
    return this.#client.isReady ?? this.#client.isOpen;
  }

  whenReady(): Promise<void> {
    if (this.isReady) return Promise.resolve();
    if (!this.#client.isOpen) {
      return Promise.reject(new Error("the client is not connected: call connect() first"));
    }
    return untilReady(this.#client);
  }

  evalSha(sha1: string, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.#client.evalSha(sha1, { keys: keys as string[], arguments: args as string[] });
  }

  eval(source: string, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.#client.eval(source, { keys: keys as string[], arguments: args as string[] });
  }

  async info(): Promise<string> {
    const client = this.#client;
    if (client.info !== undefined) return client.info();
    const [master] = client.masters ?? [];
    if (master === undefined) throw new Error("CLUSTERDOWN no node is known yet");
    const node = await client.nodeClient?.(master);
    return (await node?.info?.()) ?? "";
  }

  reconnect(): void {
    // The client's own affair.
  }

  async close(): Promise<void> {
    // The user's client is closed by its user.
    this.#stopListening();
  }
}
