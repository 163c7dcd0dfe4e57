// Forwards the body of a request: each piece as it arrives, no faster than the backend accepts them, and no more bytes
// than are allowed.

import { type BodyReader, LAST_CHUNK, type RequestBody, writeChunk } from "sluice-http1";
import type { UpstreamConnection } from "../upstream/connection.js";

/** What is notified about a body. */
export interface BodyWatcher {
  /** The body is larger than allowed. The rest is dropped. */
  onBodyTooLarge(): void;
  /** The whole body is on its way to the backend. */
  onBodySent(): void;
}

/** Forwards one body. */
export class ForwardedBody implements BodyReader {
  readonly #body: RequestBody;
  readonly #isChunked: boolean;
  readonly #watcher: BodyWatcher;
  #bytesLeft: number;
  #isTooLarge = false;
  #connection: UpstreamConnection | undefined = undefined;

  /** @param bytesMax - 0 means no bound. */
  constructor(body: RequestBody, isChunked: boolean, bytesMax: number, watcher: BodyWatcher) {
    this.#body = body;
    this.#isChunked = isChunked;
    this.#bytesLeft = bytesMax === 0 ? Number.POSITIVE_INFINITY : bytesMax;
    this.#watcher = watcher;
  }

  /** Whether it waits for the client. */
  get isAwaited(): boolean {
    return !this.#body.isComplete && !this.#body.isPaused;
  }

  /** Starts on a connection to which the head was written. */
  start(connection: UpstreamConnection): void {
    this.#connection = connection;
    this.#body.readTo(this);
  }

  /** The backend accepts more. */
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
    this.#watcher.onBodySent();
  }

  #refuse(): void {
    if (this.#isTooLarge) return;
    this.#isTooLarge = true;
    this.#watcher.onBodyTooLarge();
  }

  #send(connection: UpstreamConnection, piece: Buffer): boolean {
    return this.#isChunked ? writeChunk(connection, piece) : connection.write(piece);
  }
}

/** A piece of a body, to keep: the connection overwrites its bytes with the next ones. */
export function copyOf(bytes: Buffer, from: number, to: number): Buffer {
  return Buffer.from(bytes.subarray(from, to));
}
