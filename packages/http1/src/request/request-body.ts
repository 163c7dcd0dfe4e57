// The body of a request as it arrives. Until a reader asks for it, it is held, up to a bound at which reading from the
// connection pauses. Then it goes to its reader piece by piece, no faster than the reader allows.

import { PIECES_MAX } from "../message/kept-bytes.js";

/** Where a body comes from. */
export interface BodySource {
  /** Reads no further until {@link resumeReading}. */
  pauseReading(): void;
  resumeReading(): void;
}

/** What reads a body. */
export interface BodyReader {
  onPiece(piece: Buffer): void;
  onBodyEnd(): void;
}

/** Called once: true if the whole body is held; false if it is too large, or its client is gone. */
export type OnHeld = (isWhole: boolean) => void;

/** Bytes that are held until there is a reader. */
export const HELD_BYTES_MAX = 65_536;

const NOTHING: Buffer = Buffer.alloc(0);

/** One body. */
export class RequestBody {
  readonly #source: BodySource;
  #pieces: Buffer[] = [];
  #heldBytes = 0;
  #heldBytesMax = HELD_BYTES_MAX;
  #reader: BodyReader | undefined = undefined;
  #onHeld: OnHeld | undefined = undefined;
  #isDropped = false;
  #isComplete = false;
  #isPaused = false;

  constructor(source: BodySource) {
    this.#source = source;
  }

  /** Whether its last byte has arrived. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** Whether reading is paused. */
  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** Whether the rest is not wanted, or will not arrive. */
  get isDropped(): boolean {
    return this.#isDropped;
  }

  /** All bytes that are held. */
  get held(): Buffer {
    if (this.#pieces.length > 1) this.#join();
    return this.#pieces[0] ?? NOTHING;
  }

  /** Passes the body to a reader: what is held immediately, the rest as it arrives. */
  readTo(reader: BodyReader): void {
    this.#reader = reader;
    const { held } = this;
    this.#pieces = [];
    this.#heldBytes = 0;
    this.resume();
    if (held.length > 0) reader.onPiece(held);
    if (this.#isComplete) reader.onBodyEnd();
  }

  /** Pauses: the reader accepts no more for now. */
  pause(): void {
    if (this.#isPaused || this.#isComplete) return;
    this.#isPaused = true;
    this.#source.pauseReading();
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#source.resumeReading();
  }

  /** Drops the rest. It is still read from the connection, so that the next request is found. */
  drop(): void {
    this.#isDropped = true;
    this.#reader = undefined;
    this.#pieces = [];
    this.#heldBytes = 0;
    this.resume();
  }

  /** Calls back when the whole body or more than `bytesMax` is held, immediately if it already is. Consumes nothing. */
  whenHeld(bytesMax: number, onHeld: OnHeld): void {
    this.#heldBytesMax = Math.max(bytesMax, HELD_BYTES_MAX);
    this.#onHeld = (isWhole) => {
      if (!isWhole && this.#heldBytes <= bytesMax && !this.#isDropped) return;
      this.#onHeld = undefined;
      onHeld(isWhole && this.#heldBytes <= bytesMax);
    };
    this.#onHeld(this.#isComplete);
    if (this.#heldBytes <= this.#heldBytesMax) this.resume();
  }

  /** For the connection: a piece has arrived. */
  push(piece: Buffer): void {
    if (this.#isDropped) return;
    if (this.#reader !== undefined) {
      this.#reader.onPiece(piece);
      return;
    }
    this.#pieces.push(piece);
    this.#heldBytes += piece.length;
    if (this.#pieces.length > PIECES_MAX) this.#join();
    this.#onHeld?.(false);
    // The callback may have started to read it.
    if (this.#heldBytes > this.#heldBytesMax) this.pause();
  }

  /** For the connection: that was the last piece. */
  finish(): void {
    // What follows belongs to the next request, which this body must not delay.
    this.resume();
    this.#isComplete = true;
    if (this.#reader !== undefined) this.#reader.onBodyEnd();
    else this.#onHeld?.(true);
  }

  /** For the connection: the rest will not arrive. */
  abort(): void {
    this.drop();
    this.#onHeld?.(false);
  }

  #join(): void {
    this.#pieces = [Buffer.concat(this.#pieces, this.#heldBytes)];
  }
}
