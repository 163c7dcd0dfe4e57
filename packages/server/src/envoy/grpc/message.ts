// The one message that a call sends: gathered within a bound, taken out of its frame and decompressed within the
// same bound.

import { gunzipSync, inflateSync } from "node:zlib";
import { GrowingBuffer } from "../../base/http/growing-buffer.js";
import { PREFIX_BYTES, STATUS, type Status } from "./replies.js";

/** The most bytes of a message, decompressed too. Envoy's have some hundred. */
export const MESSAGE_BYTES_MAX = 65_536;
/** The most bytes that the calls of one connection hold together: sixteen messages of the largest size. */
export const CONNECTION_BYTES_MAX = 16 * MESSAGE_BYTES_MAX;

/** Why a call has no message that can be read. */
export class FrameError extends Error {
  override readonly name = "FrameError";
  readonly status: Status;

  constructor(status: Status, message: string) {
    super(message);
    this.status = status;
  }
}

/** The bytes that the calls of one connection hold together while their messages arrive. */
export class HeldBytes {
  #bytes = 0;

  /** Adds to the bytes held (or subtracts, if negative). Returns false, and changes nothing, beyond the bound. */
  change(bytes: number): boolean {
    if (this.#bytes + bytes > CONNECTION_BYTES_MAX) return false;
    this.#bytes += bytes;
    return true;
  }
}

/** Gathers the body of a call. */
export class CallBody {
  readonly #held: HeldBytes;
  #buffer: GrowingBuffer | undefined = new GrowingBuffer();
  #heldBytes = 0;

  constructor(held: HeldBytes) {
    this.#held = held;
  }

  /** Whether its bytes were dropped: more came than may be held, or the call is over. */
  get isDropped(): boolean {
    return this.#buffer === undefined;
  }

  /** Adds a piece. If it does not fit, drops the body and returns why the call has to be refused. */
  add(piece: Buffer): string | undefined {
    const buffer = this.#buffer;
    if (buffer === undefined) return undefined;
    if (buffer.length + piece.length > PREFIX_BYTES + MESSAGE_BYTES_MAX) {
      this.drop();
      return "the message is too large";
    }
    buffer.add(piece);
    const { capacity } = buffer;
    if (capacity === this.#heldBytes || this.#held.change(capacity - this.#heldBytes)) {
      this.#heldBytes = capacity;
      return undefined;
    }
    this.drop();
    return "too many bytes are buffered for the calls of this connection";
  }

  /** Frees what is held. */
  drop(): void {
    this.#buffer = undefined;
    this.#held.change(-this.#heldBytes);
    this.#heldBytes = 0;
  }

  /**
   * Takes the message out of the body.
   *
   * @param encoding - What `grpc-encoding` said, which counts if the message says that it is compressed.
   * @throws FrameError if there is none, or more than one.
   */
  takeMessage(encoding: unknown): Buffer {
    const bytes = this.#buffer?.bytes;
    this.drop();
    if (bytes === undefined || bytes.length < PREFIX_BYTES) {
      throw new FrameError(STATUS.invalidArgument, "the call has no message");
    }
    if (bytes.readUInt32BE(1) !== bytes.length - PREFIX_BYTES) {
      throw new FrameError(STATUS.invalidArgument, "the call has not exactly one message");
    }
    const message = bytes.subarray(PREFIX_BYTES);
    return bytes[0] === 0 ? message : decompress(message, encoding);
  }
}

function decompress(message: Buffer, encoding: unknown): Buffer {
  const inflate =
    encoding === "gzip" ? gunzipSync : encoding === "deflate" ? inflateSync : undefined;
  if (inflate === undefined) {
    throw new FrameError(
      STATUS.unimplemented,
      "the message is compressed with an unknown algorithm",
    );
  }
  try {
    return inflate(message, { maxOutputLength: MESSAGE_BYTES_MAX });
  } catch (error) {
    const isTooLong = (error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE";
    const status = isTooLong ? STATUS.resourceExhausted : STATUS.invalidArgument;
    throw new FrameError(status, "the message can't be decompressed");
  }
}
