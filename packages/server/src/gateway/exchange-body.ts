// The body of a request on its way to the upstream: each piece as it comes, no faster than the upstream
// takes them, and no more bytes than are allowed.

import type { IncomingMessage } from "node:http";
import type { Connection } from "../upstream/connection.js";

/** What is told of a body. */
export interface BodyWatcher {
  /** There are more bytes than allowed. The rest is dropped. */
  onBodyTooLarge(): void;
}

/** Passes one body on. */
export class RequestBody {
  readonly #request: IncomingMessage;
  readonly #isChunked: boolean;
  readonly #watcher: BodyWatcher;
  #bytesLeft: number;
  #isTooLarge = false;
  #connection: Connection | undefined;

  /** @param bytesMax - 0 is no bound. */
  constructor(
    request: IncomingMessage,
    isChunked: boolean,
    bytesMax: number,
    watcher: BodyWatcher,
  ) {
    this.#request = request;
    this.#isChunked = isChunked;
    this.#bytesLeft = bytesMax === 0 ? Number.POSITIVE_INFINITY : bytesMax;
    this.#watcher = watcher;
    this.#connection = undefined;
  }

  /** Whether the upstream is what it waits for. */
  get isHeldUp(): boolean {
    return this.#connection !== undefined && this.#request.isPaused();
  }

  /** Begins, on a connection on which the head was sent. */
  start(connection: Connection): void {
    this.#connection = connection;
    this.#request.on("data", (piece: Buffer) => this.#onPiece(piece));
    this.#request.on("end", () => this.#onEnd());
  }

  /** The upstream takes more. */
  onDrain(): void {
    this.#request.resume();
  }

  /** Nobody wants the rest: it is read, so that the next request is found, and dropped. */
  drop(): void {
    this.#connection = undefined;
    if (this.#request.isPaused()) this.#request.resume();
  }

  #onPiece(piece: Buffer): void {
    this.#bytesLeft -= piece.length;
    if (this.#bytesLeft < 0) this.#refuse();
    else if (this.#connection !== undefined && !this.#send(this.#connection, piece)) {
      this.#request.pause();
    }
  }

  #refuse(): void {
    if (this.#isTooLarge) return;
    this.#isTooLarge = true;
    this.#watcher.onBodyTooLarge();
  }

  #send(connection: Connection, piece: Buffer): boolean {
    if (!this.#isChunked) return connection.write(piece);
    connection.cork();
    connection.write(`${piece.length.toString(16)}\r\n`);
    connection.write(piece);
    const isReady = connection.write("\r\n");
    connection.uncork();
    return isReady;
  }

  #onEnd(): void {
    const connection = this.#connection;
    this.#connection = undefined;
    if (connection === undefined) return;
    if (this.#isChunked) connection.write("0\r\n\r\n");
    connection.endBody();
  }
}
