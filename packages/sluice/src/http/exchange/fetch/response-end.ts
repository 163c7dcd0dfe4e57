// The end of a `Response`. The handler is not notified of it, so the body goes through a stream that knows
// when the last byte was read, or that the reader has cancelled.

import type { BodyMeter } from "../../response-cost/body-meter.js";

/**
 * A response like this one that reports its end once, with the bytes of the body that were read: its
 * body was sent, cancelled by its reader or failed, or the client disconnected. A missing body ends immediately,
 * and so does one that is not sent, because the request was a HEAD or it is being read elsewhere.
 *
 * @param meter - Reads the body while it passes through.
 */
export function whenSent(
  request: Request,
  response: Response,
  onEnd: (bytes: number) => void,
  meter?: BodyMeter,
): Response {
  const { body } = response;
  if (body === null || body.locked || request.method === "HEAD") {
    meter?.end();
    onEnd(0);
    return response;
  }
  return new Response(watch(body, request.signal, onEnd, meter), response);
}

function watch(
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal,
  onEnd: (bytes: number) => void,
  meter: BodyMeter | undefined,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let bytes = 0;
  let hasEnded = false;
  const end = () => {
    if (hasEnded) return;
    hasEnded = true;
    signal.removeEventListener("abort", end);
    onEnd(bytes);
  };
  signal.addEventListener("abort", end);
  if (signal.aborted) end();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (!done) {
            bytes += value.byteLength;
            meter?.read(value);
            return controller.enqueue(value);
          }
          meter?.end();
          controller.close();
        } catch (error) {
          controller.error(error);
        }
        end();
      },
      cancel(reason) {
        end();
        return reader.cancel(reason);
      },
    },
    // Nothing is read ahead: the runtime alone says how fast the body goes out.
    { highWaterMark: 0 },
  );
}
