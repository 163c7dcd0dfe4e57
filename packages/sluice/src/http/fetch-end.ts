// How a response ends that is a `Response`: nobody tells its maker, so its body is passed on through a
// stream that knows when the last byte was taken, or that nobody will take it any more.

/** What was seen of a response when it ended. */
export interface BodyEnd {
  /** Bytes of the body that were taken. */
  readonly bytes: number;
  /** Whether that was all of it. */
  readonly isWhole: boolean;
}

/**
 * A response like this one that says once when its body is out, was given up by its reader, or failed.
 * A body that is not there, or is not sent as the request was a HEAD, has its end at once.
 */
export function whenSent(
  request: Request,
  response: Response,
  onEnd: (end: BodyEnd) => void,
): Response {
  const { body } = response;
  if (body === null || request.method === "HEAD") {
    onEnd({ bytes: 0, isWhole: true });
    return response;
  }
  return new Response(watch(body, onEnd), response);
}

function watch(
  body: ReadableStream<Uint8Array>,
  onEnd: (end: BodyEnd) => void,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let bytes = 0;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (!done) {
            bytes += value.byteLength;
            return controller.enqueue(value);
          }
          controller.close();
          onEnd({ bytes, isWhole: true });
        } catch (error) {
          controller.error(error);
          onEnd({ bytes, isWhole: false });
        }
      },
      cancel(reason) {
        onEnd({ bytes, isWhole: false });
        return reader.cancel(reason);
      },
    },
    // Nothing is read ahead: the runtime alone says how fast the body goes out.
    { highWaterMark: 0 },
  );
}
