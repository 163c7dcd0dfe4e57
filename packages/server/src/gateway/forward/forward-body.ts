// The body of a request on its way to the upstream: each piece as it comes, no faster than the upstream
// takes them, and no more bytes than are allowed.

import { type BodyReader, LAST_CHUNK, type RequestBody, writeChunk } from "sluice-http1";
import type { Connection } from "../upstream/connection.js";

/** What is told of a body. */
export interface BodyWatcher {
  /** There are more bytes than allowed. The rest is dropped. */
  onBodyTooLarge(): void;
}

/** Passes one body on. */
export class ForwardedBody implements BodyReader {
  readonly #body: RequestBody;
  readonly #isChunked: boolean;
  readonly #watcher: BodyWatcher;
  #bytesLeft: number;
  #isTooLarge = false;
  #connection: Connection | undefined = undefined;

  /** @param bytesMax - 0 is no bound. */
  constructor(body: RequestBody, isChunked: boolean, bytesMax: number, watcher: BodyWatcher) {
    this.#body = body;
    this.#isChunked = isChunked;
    this.#bytesLeft = bytesMax === 0 ? Number.POSITIVE_INFINITY : bytesMax;
    this.#watcher = watcher;
  }

  /** Whether it is the client that it waits for. */
  get isAwaited(): boolean {
    return !this.#body.isComplete && !this.#body.isPaused;
  }

  /** Begins, on a connection on which the head was sent. */
  start(connection: Connection): void {
    this.#connection = connection;
    this.#body.readTo(this);
  }

  /** The upstream takes more. */
  onDrain(): void {
    this.#body.resume();
  }

  drop(): void {
    this.#connection = undefined;
    this.#body.drop();
  }

  onPiece(piece: Buffer): void {
    const connection = this.#connection;
    this.#bytesLeft -= piece.length;
    if (this.#bytesLeft < 0) this.#refuse();
    else if (connection !== undefined && !this.#send(connection, piece)) this.#body.pause();
  }

  onBodyEnd(): void {
    const connection = this.#connection;
    this.#connection = undefined;
    if (connection === undefined) return;
    if (this.#isChunked) connection.write(LAST_CHUNK);
    connection.endBody();
  }

  #refuse(): void {
    if (this.#isTooLarge) return;
    this.#isTooLarge = true;
    this.#watcher.onBodyTooLarge();
  }

  #send(connection: Connection, piece: Buffer): boolean {
    return this.#isChunked ? writeChunk(connection, piece) : connection.write(piece);
  }
}
