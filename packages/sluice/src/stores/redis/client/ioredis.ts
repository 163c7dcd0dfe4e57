// The port over ioredis. Left to its defaults it sends unanswered commands again after a cut
// connection, queues while there is none and retries for seconds: a charge could happen twice, and
// a decision could stall. The store uses a duplicate with all of that off, and a quick reconnect.

import type { RedisPort } from "./redis-port.js";
import { ConnectionFailure, untilReady } from "./until-ready.js";

interface IoredisOptions {
  readonly autoResendUnfulfilledCommands?: boolean;
  readonly enableOfflineQueue?: boolean;
  readonly stringNumbers?: boolean;
  readonly maxRetriesPerRequest?: number | null;
  readonly redisOptions?: object;
  readonly retryDelayOnFailover?: number;
}

/** What of ioredis is used. */
interface Ioredis {
  readonly status: string;
  readonly isCluster?: boolean;
  readonly options: IoredisOptions;
  evalsha(sha1: string, count: number, ...rest: string[]): Promise<unknown>;
  eval(source: string, count: number, ...rest: string[]): Promise<unknown>;
  info(): Promise<string>;
  connect(): Promise<void>;
  disconnect(reconnect?: boolean): void;
  duplicate(...overrides: unknown[]): Ioredis;
  on(event: string, listener: (...args: unknown[]) => void): void;
  once(event: string, listener: (...args: unknown[]) => void): void;
  off(event: string, listener: (...args: unknown[]) => void): void;
}

const RECONNECT_MS_MIN = 10;
const RECONNECT_MS_MAX = 500;
const CONNECT_MS_MAX = 2_000;
/** After this long without an answer the connection is closed: a hung primary has been replaced by then. */
const SILENCE_MS_MAX = 2_000;
/**
 * How long a connection that is ended may take to close. For one that is closed already ioredis waits all of this,
 * and the process with it.
 */
const DISCONNECT_MS_MAX = 100;
const CLUSTER_RETRY_MS = 10;
/** At least one redirection must be followed; a slot that moves on needs a few. */
const REDIRECTIONS_MAX = 8;

/** No command is sent twice, none is queued, and a lost connection comes back soon. */
const careful = {
  autoResendUnfulfilledCommands: false,
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  connectTimeout: CONNECT_MS_MAX,
  socketTimeout: SILENCE_MS_MAX,
  disconnectTimeout: DISCONNECT_MS_MAX,
  stringNumbers: false,
};
const reconnectSoon = (attempt: number): number =>
  Math.min(RECONNECT_MS_MIN * 2 ** Math.min(attempt - 1, 10), RECONNECT_MS_MAX);

/** The port over an ioredis `Redis` or `Cluster`. */
export function ioredisPort(client: unknown): RedisPort {
  return new IoredisPort(client as Ioredis);
}

class IoredisPort implements RedisPort {
  readonly isCluster: boolean;
  readonly #client: Ioredis;
  readonly #isOwn: boolean;
  readonly #failure = new ConnectionFailure();
  readonly #stopListening: () => void;

  constructor(given: Ioredis) {
    this.isCluster = given.isCluster === true;
    this.#isOwn = !isCareful(given);
    this.#client = this.#isOwn ? duplicateCarefully(given) : given;
    // Without a listener ioredis prints every failed attempt; failures show in answers.
    this.#stopListening = this.#failure.listenTo(this.#client);
    if (this.#client.status === "wait") this.#client.connect().catch(() => {});
  }

  get reason(): string | undefined {
    return this.#failure.reason;
  }

  get isReady(): boolean {
    return this.#client.status === "ready";
  }

  whenReady(): Promise<void> {
    const client = this.#client;
    if (client.status === "ready") return Promise.resolve();
    if (client.status === "end") return Promise.reject(new Error("the connection was closed"));
    return untilReady(client);
  }

  evalSha(sha1: string, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.#client.evalsha(sha1, keys.length, ...keys, ...args);
  }

  eval(source: string, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.#client.eval(source, keys.length, ...keys, ...args);
  }

  info(): Promise<string> {
    return this.#client.info();
  }

  reconnect(): void {
    // Only our own: a user's client may have other work under way. A Cluster finds its way alone.
    if (this.#isOwn && !this.isCluster) this.#client.disconnect(true);
  }

  async close(): Promise<void> {
    if (this.#isOwn) this.#client.disconnect();
    else this.#stopListening();
  }
}

function isCareful({ isCluster, options }: Ioredis): boolean {
  const nodes: IoredisOptions = isCluster ? (options.redisOptions ?? {}) : options;
  const sendsOnce = isCluster
    ? options.retryDelayOnFailover === 0
    : nodes.autoResendUnfulfilledCommands === false;
  const readsNumbers = nodes.stringNumbers !== true;
  const queues = options.enableOfflineQueue !== false;
  const isQueueRight = queues === (isCluster === true);
  return sendsOnce && readsNumbers && isQueueRight && nodes.maxRetriesPerRequest === 0;
}

function duplicateCarefully(given: Ioredis): Ioredis {
  if (!given.isCluster) {
    return given.duplicate({ ...careful, lazyConnect: false, retryStrategy: reconnectSoon });
  }
  const { enableOfflineQueue: _, ...nodes } = careful;
  return given.duplicate([], {
    // Nodes connect at their first command, and take others only meanwhile: without the queue those
    // would fail. It is short: attempts to reach a node that can't be reached end, and its commands fail.
    enableOfflineQueue: true,
    lazyConnect: false,
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    retryDelayOnTryAgain: CLUSTER_RETRY_MS,
    maxRedirections: REDIRECTIONS_MAX,
    clusterRetryStrategy: reconnectSoon,
    // The Cluster connects its nodes by itself.
    redisOptions: { ...given.options.redisOptions, ...nodes, lazyConnect: true },
  });
}
