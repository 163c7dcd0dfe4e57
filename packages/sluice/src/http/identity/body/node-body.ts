// The body of a `node:http` request, read ahead and put back, so that the next reader (a body parser,
// a pipeline, a plain listener) still finds every byte of it. The bytes have to be back before the
// stream says that it ended: it never does so while it holds any, and an empty one is left unread.

import type { IncomingMessage, ServerResponse } from "node:http";
import { startTimer } from "../../../base/clock.js";
import type { MaybePromise } from "../../../base/maybe-promise.js";
import {
  type BodyBounds,
  type BodyFields,
  PIECES_MAX,
  parseBody,
  toBodyForm,
  toFields,
} from "./body.js";

// Two request handlers on one way read the body once; the request holds its own entry.
const bodiesRead = new WeakMap<IncomingMessage, MaybePromise<BodyFields | undefined>>();

/**
 * The top-level fields of a request's body. A body that a framework has parsed already (`request.body`)
 * is used as it is. Undefined if there is none, if it is not
 * JSON or a form, compressed, malformed, larger than `bytesMax` or later than `arrivalMsMax`, or if
 * something else is reading it or the client has disconnected. The next reader still gets every byte.
 *
 * @param response - For sending `100 Continue` to a client that waits for it (`Expect: 100-continue`), where a
 * listener for 'checkContinue' has not done so. Without it such a body never comes.
 */
export function readNodeBody(
  request: IncomingMessage,
  bounds: BodyBounds,
  response?: ServerResponse,
): MaybePromise<BodyFields | undefined> {
  const { body } = request as { body?: unknown };
  if (body !== undefined) return toFields(body);
  const known = bodiesRead.get(request);
  if (known !== undefined) return known;
  const { headers } = request;
  const form = toBodyForm(headers["content-type"], headers["content-encoding"]);
  if (form === undefined || !isThere(request, bounds.bytesMax) || isTaken(request))
    return undefined;
  if (response !== undefined) sendContinue(request, response);
  const fields = readAhead(request, bounds).then((bytes) =>
    bytes === undefined ? undefined : parseBody(form, bytes),
  );
  bodiesRead.set(request, fields);
  return fields;
}

/** Whether there is a body that may fit. HTTP/2 needs to announce nothing. */
function isThere({ headers, httpVersionMajor }: IncomingMessage, bytesMax: number): boolean {
  const length = headers["content-length"];
  if (length !== undefined) return Number(length) > 0 && Number(length) <= bytesMax;
  return headers["transfer-encoding"] !== undefined || httpVersionMajor > 1;
}

/** Whether it is being read already, or there is nothing left to read. */
function isTaken(request: IncomingMessage): boolean {
  return (
    request.readableDidRead ||
    request.readableFlowing === true ||
    request.readableEncoding !== null ||
    request.destroyed ||
    (request.complete && request.readableLength === 0)
  );
}

/** Node sends it by itself, unless there is a listener for 'checkContinue'. */
function sendContinue({ headers, complete }: IncomingMessage, response: ServerResponse): void {
  if (complete || headers.expect?.toLowerCase() !== "100-continue") return;
  const { _sent100: isSent } = response as { _sent100?: boolean };
  if (isSent !== true && !response.headersSent) response.writeContinue();
}

/** All bytes of the body, which are back in the stream by then; undefined if they don't come. */
function readAhead(
  request: IncomingMessage,
  { bytesMax, arrivalMsMax, clock }: BodyBounds,
): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    let chunks: Buffer[] = [];
    let bytes = 0;
    const cancelTimer = startTimer(clock, arrivalMsMax, () => stop(false));
    // A stream that is not being read when a listener is added reads by itself a moment later. If it has
    // ended empty by then, it would report that before its real reader is there.
    request.read(0);
    request.on("readable", onReadable);
    request.on("close", onClose);

    function onReadable(): void {
      // Not asked when it is empty: at its end that would make it say that it ended.
      while (request.readableLength > 0) {
        const chunk: Buffer = request.read();
        chunks.push(chunk);
        bytes += chunk.length;
      }
      if (chunks.length > PIECES_MAX) chunks = [Buffer.concat(chunks, bytes)];
      if (bytes > bytesMax) stop(false);
      else if (hasAll(request)) stop(true);
    }

    function onClose(): void {
      stop(false);
    }

    function stop(isWhole: boolean): void {
      cancelTimer();
      request.off("readable", onReadable);
      request.off("close", onClose);
      const body = Buffer.concat(chunks, bytes);
      if (bytes > 0 && !request.destroyed) request.unshift(body);
      // Node itself discards what was not read once the response is out.
      (request as { _consuming?: boolean })._consuming = false;
      resolve(isWhole ? body : undefined);
    }
  });
}

/** Whether the last byte has arrived. In HTTP/2 it is the stream below that knows. */
function hasAll(request: IncomingMessage & { stream?: { readableEnded?: boolean } }): boolean {
  return request.complete || request.stream?.readableEnded === true;
}
