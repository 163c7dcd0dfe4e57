// The body of a request as it arrives. What comes before anybody asks for it is held, up to a bound at which
// the connection is not read any more; then it goes to its reader piece by piece, no faster than that allows.

import { PIECES_MAX } from "../message/kept-bytes.js";

/** Where a body comes from. */
export interface BodySource {
  /** Reads no further until {@link resumeReading}. */
  pauseReading(): void;
  resumeReading(): void;
}

/** Who reads a body. */
export interface BodyReader {
  onPiece(piece: Buffer): void;
  onBodyEnd(): void;
}

/** Told once: whether all of a body is held, or more than was asked for is, or its client is gone. */
export type OnHeld = (isWhole: boolean) => void;

/** Bytes that are held for a reader who is late. */
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

  /** Whether it is the reader that keeps it waiting. */
  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** Whether nobody wants what is still to come of it, or it does not come. */
  get isDropped(): boolean {
    return this.#isDropped;
  }

  /** All bytes that are held. */
  get held(): Buffer {
    if (this.#pieces.length > 1) this.#join();
    return this.#pieces[0] ?? NOTHING;
  }

  /** Passes all of it to a reader: what is held at once, the rest as it comes. */
  readTo(reader: BodyReader): void {
    this.#reader = reader;
    const { held } = this;
    this.#pieces = [];
    this.#heldBytes = 0;
    this.resume();
    if (held.length > 0) reader.onPiece(held);
    if (this.#isComplete) reader.onBodyEnd();
  }

  /** The reader takes no more for now. */
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

  /** Nobody wants the rest: it is read, so that the next request is found, and dropped. */
  drop(): void {
    this.#isDropped = true;
    this.#reader = undefined;
    this.#pieces = [];
    this.#heldBytes = 0;
    this.resume();
  }

  /** Calls back when all of it is held, or more than `bytesMax`; at once if that is so. Nothing is taken. */
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
    // Whoever was told may read it by now.
    if (this.#heldBytes > this.#heldBytesMax) this.pause();
  }

  /** For the connection: that was the last piece. */
  finish(): void {
    // What follows is another's: it is not for this body to keep it waiting.
    this.resume();
    this.#isComplete = true;
    if (this.#reader !== undefined) this.#reader.onBodyEnd();
    else this.#onHeld?.(true);
  }

  /** For the connection: the rest does not come. */
  abort(): void {
    this.drop();
    this.#onHeld?.(false);
  }

  #join(): void {
    this.#pieces = [Buffer.concat(this.#pieces, this.#heldBytes)];
  }
}
