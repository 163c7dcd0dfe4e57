// The body of a fetch `Request`, read from a copy, so that the request itself can still be read.

import { startTimer } from "../../../base/clock.js";
import type { MaybePromise } from "../../../base/maybe-promise.js";
import { type BodyBounds, type BodyFields, PIECES_MAX, parseBody, toBodyForm } from "./body.js";

// Two request handlers on one way read the body once; the request holds its own entry.
const bodiesRead = new WeakMap<Request, Promise<BodyFields | undefined>>();

/**
 * The top-level fields of a request's body. Undefined if there is none, it was read before, is not JSON
 * or a form, compressed, malformed, larger than `bytesMax`, or not there within `arrivalMsMax`.
 */
export function readFetchBody(
  request: Request,
  bounds: BodyBounds,
): MaybePromise<BodyFields | undefined> {
  const known = bodiesRead.get(request);
  if (known !== undefined) return known;
  const { headers } = request;
  const form = toBodyForm(headers.get("content-type"), headers.get("content-encoding"));
  const length = Number(headers.get("content-length") ?? 0);
  if (form === undefined || length > bounds.bytesMax) return undefined;
  if (request.body === null || request.bodyUsed || request.body.locked) return undefined;
  const copy = request.clone().body as ReadableStream<Uint8Array>;
  const fields = readBounded(copy, bounds).then((bytes) =>
    bytes === undefined ? undefined : parseBody(form, bytes),
  );
  bodiesRead.set(request, fields);
  return fields;
}

/** All bytes of a stream; undefined if they are too many, come too late, or the stream fails. */
async function readBounded(
  stream: ReadableStream<Uint8Array>,
  { bytesMax, arrivalMsMax, clock }: BodyBounds,
): Promise<Uint8Array | undefined> {
  const reader = stream.getReader();
  let chunks: Uint8Array[] = [];
  let bytes = 0;
  let isLate = false;
  // To cancel one copy leaves the other as it is, and ends the read that waits.
  const cancel = () => void reader.cancel().catch(() => {});
  const cancelTimer = startTimer(clock, arrivalMsMax, () => {
    isLate = true;
    cancel();
  });
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (isLate) return undefined;
      if (done) return join(chunks, bytes);
      chunks.push(value);
      bytes += value.length;
      if (bytes > bytesMax) {
        cancel();
        return undefined;
      }
      if (chunks.length > PIECES_MAX) chunks = [join(chunks, bytes)];
    }
  } catch {
    return undefined;
  } finally {
    cancelTimer();
  }
}

function join(chunks: readonly Uint8Array[], bytes: number): Uint8Array {
  const whole = new Uint8Array(bytes);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}
