// The body of a request, whole. Nearly all arrive in one piece, which is then used as it is.

import type { IncomingMessage } from "node:http";
import { ServerError } from "../errors.js";

/** Receives the body, or the error that it is too large. Called once, or never if the client is gone. */
export type TakeBody = (error: ServerError | undefined, body: Buffer) => void;

const EMPTY: Buffer = Buffer.alloc(0);

/**
 * Collects a body of at most so many bytes, out of what the parser hands to the request. To be called in the
 * step in which the request arrives. The stream itself gets nothing but its end: its events would cost a single
 * check more than the decision does (bench service/decide).
 */
export function collectBody(request: IncomingMessage, bytesMax: number, take: TakeBody): void {
  const { push } = request;
  let body = EMPTY;
  let pieces: Buffer[] | undefined;
  let bytes = 0;
  request.push = (piece: Buffer | null) => {
    if (piece === null) {
      request.push = push;
      push.call(request, null);
      if (bytes <= bytesMax)
        take(undefined, pieces === undefined ? body : Buffer.concat(pieces, bytes));
      return false;
    }
    const wasOver = bytes > bytesMax;
    bytes += piece.length;
    if (wasOver) return true;
    if (bytes > bytesMax) {
      body = EMPTY;
      pieces = undefined;
      take(tooLarge(bytesMax), EMPTY);
    } else if (body === EMPTY) body = piece;
    else {
      pieces ??= [body];
      pieces.push(piece);
    }
    return true;
  };
}

/** The error of a body that is larger than allowed. */
export function tooLarge(bytesMax: number): ServerError {
  return new ServerError("SLUICE_BODY_TOO_LARGE", `at most ${bytesMax} bytes`);
}
