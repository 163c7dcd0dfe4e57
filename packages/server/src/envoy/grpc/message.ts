// The one message that a call sends: gathered within a bound, taken out of its frame and decompressed within the
// same bound.

import { gunzipSync, inflateSync } from "node:zlib";
import { PREFIX_BYTES, STATUS, type Status } from "./answers.js";

/** The most bytes of a message, decompressed too. Envoy's have some hundred. */
export const MESSAGE_BYTES_MAX = 65_536;

/** Why a call has no message that can be read. */
export class FrameError extends Error {
  override readonly name = "FrameError";
  readonly status: Status;

  constructor(status: Status, message: string) {
    super(message);
    this.status = status;
  }
}

/** Gathers the pieces of a call's body. */
export class Body {
  #first: Buffer | undefined;
  #more: Buffer[] | undefined;
  #length = 0;

  /** Whether more came than a message may have. */
  get isTooLarge(): boolean {
    return this.#length > PREFIX_BYTES + MESSAGE_BYTES_MAX;
  }

  /** Adds a piece, and returns whether the whole is still within its bound. What is beyond is dropped. */
  add(piece: Buffer): boolean {
    this.#length += piece.length;
    if (this.isTooLarge) return false;
    if (this.#first === undefined) this.#first = piece;
    else if (this.#more === undefined) this.#more = [this.#first, piece];
    else this.#more.push(piece);
    return true;
  }

  /**
   * The message.
   *
   * @param encoding - What `grpc-encoding` said, which counts if the message says that it is compressed.
   * @throws FrameError if there is none, or more than one.
   */
  message(encoding: unknown): Buffer {
    const bytes = this.#more === undefined ? this.#first : Buffer.concat(this.#more);
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
      "the message is compressed in a way that is not known",
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
