// One client's connection through the fault proxy: a pipe each way, and a reader that finds where
// one reply of the server ends and the next begins.

import type { Socket } from "node:net";
import { Push, ReplyReader } from "../redis/resp.js";
import { FaultPipe, type Flow } from "./fault-pipe.js";

/** What a link asks of the proxy it belongs to. */
export interface LinkOwner {
  /** How bytes travel now, to the server or to the client. */
  flow(to: "server" | "client"): Flow;
  /** Whether bytes of the client are passed on to the server. */
  admitRequests(link: FaultLink, bytes: number): boolean;
  /** Whether this chunk is passed on to the client. `replies` is how many replies end in it. */
  admitReplies(link: FaultLink, replies: number): boolean;
  passedToServer(bytes: number): void;
  passedToClient(bytes: number): void;
  /** Both sides are closed. */
  closed(link: FaultLink): void;
}

/** A pair of sockets: the client's, and ours to the server. */
export class FaultLink {
  /** Whether replies or requests were swallowed, so that it can't be used once faults are over. */
  hasLostReplies = false;
  hasLostRequests = false;
  /** Whether a fault has ended it. */
  isCut = false;
  readonly #client: Socket;
  readonly #server: Socket;
  readonly #requests: FaultPipe;
  readonly #replies: FaultPipe;
  #reader: ReplyReader | undefined = new ReplyReader();

  constructor(client: Socket, server: Socket, owner: LinkOwner) {
    this.#client = client;
    this.#server = server;
    const [toServer, toClient] = [() => owner.flow("server"), () => owner.flow("client")];
    this.#requests = new FaultPipe(client, server, toServer, (n) => owner.passedToServer(n));
    this.#replies = new FaultPipe(server, client, toClient, (n) => owner.passedToClient(n));
    client.on("data", (chunk: Buffer) => {
      if (owner.admitRequests(this, chunk.length)) this.#requests.push(chunk);
    });
    server.on("data", (chunk: Buffer) => {
      if (owner.admitReplies(this, this.#countReplies(chunk))) this.#replies.push(chunk);
    });
    this.#watch(client, this.#requests, owner);
    this.#watch(server, this.#replies, owner);
  }

  /** Whether anything of it was swallowed. */
  get hasLost(): boolean {
    return this.hasLostReplies || this.hasLostRequests;
  }

  /** To be called when the flow has changed. */
  flowChanged(): void {
    this.#requests.flowChanged();
    this.#replies.flowChanged();
  }

  /** Ends both connections immediately; with `reset`, the client sees ECONNRESET. */
  cut(how: "close" | "reset"): void {
    this.isCut = true;
    this.#requests.close();
    this.#replies.close();
    if (how === "reset") this.#client.resetAndDestroy();
    else this.#client.destroy();
    this.#server.destroy();
  }

  #watch(socket: Socket, outgoing: FaultPipe, owner: LinkOwner): void {
    socket.setNoDelay(true);
    // What follows an error is the close event; there is nothing more to learn from it.
    socket.on("error", () => {});
    socket.on("end", () => outgoing.end());
    socket.on("close", () => {
      outgoing.end();
      if (!this.#client.destroyed || !this.#server.destroyed) return;
      this.#requests.close();
      this.#replies.close();
      owner.closed(this);
    });
  }

  // A server that speaks something else than Redis counts one reply for each chunk.
  #countReplies(chunk: Buffer): number {
    try {
      if (this.#reader === undefined) return 1;
      return this.#reader.push(chunk).filter((reply) => !(reply instanceof Push)).length;
    } catch {
      this.#reader = undefined;
      return 1;
    }
  }
}
