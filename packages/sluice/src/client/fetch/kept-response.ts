// A refusal that may still be the answer. Its body is read in the background while the retry waits, so that the
// connection is free again, and what was read is given back if there is no retry in the end.

import { drop } from "../../base/maybe-promise.js";
import type { Kept } from "../outgoing-request.js";

/** Bodies of refusals are short. Of a longer one the rest stays unread, and is read by the caller or dropped. */
const READ_BYTES_MAX = 65_536;

/** Keeps a response of fetch. */
export class KeptResponse implements Kept<Response> {
  readonly #response: Response;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  readonly #chunks: Uint8Array[] = [];
  #isDone = false;
  #error: unknown;
  #reading: Promise<void>;

  constructor(response: Response) {
    this.#response = response;
    this.#reader = readerOf(response);
    this.#reading = this.#read();
  }

  discard(): void {
    if (!this.#isDone) drop(this.#reader?.cancel());
  }

  take(): Response {
    if (this.#reader === undefined) return this.#response;
    return describeLike(this.#response, new Response(this.#toStream()));
  }

  async #read(): Promise<void> {
    let bytes = 0;
    try {
      while (this.#reader !== undefined && bytes < READ_BYTES_MAX) {
        const { done, value } = await this.#reader.read();
        if (done) break;
        this.#chunks.push(value);
        bytes += value.byteLength;
      }
      this.#isDone = bytes < READ_BYTES_MAX;
    } catch (error) {
      this.#isDone = true;
      this.#error = error;
    }
  }

  #toStream(): ReadableStream<Uint8Array> {
    let next = 0;
    return new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        await this.#reading;
        const chunk = this.#chunks[next++];
        if (chunk !== undefined) controller.enqueue(chunk);
        else if (this.#error !== undefined) controller.error(this.#error);
        else if (this.#isDone) controller.close();
        else await this.#passOn(controller);
      },
      cancel: (reason) => this.#reader?.cancel(reason),
    });
  }

  async #passOn(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    const read = await this.#reader?.read();
    if (read === undefined || read.done) controller.close();
    else controller.enqueue(read.value);
  }
}

/**
 * Reads the body. Undefined if it can't be read: there is no body, the wrapped function has begun to read it, or the
 * response is of another kind, with a stream of Node.js.
 */
function readerOf({ body }: Response): ReadableStreamDefaultReader<Uint8Array> | undefined {
  if (typeof body?.getReader !== "function" || body.locked) return undefined;
  return body.getReader() as ReadableStreamDefaultReader<Uint8Array>;
}

/**
 * A response with the given one's status, headers and so on, and with its own body. The constructor can't set some of
 * these, and refuses a status above 599 and a reason that is not ASCII, which a server may send.
 */
function describeLike(given: Response, response: Response): Response {
  const { status, statusText, ok, headers, url, redirected, type } = given;
  return Object.defineProperties(response, {
    status: { value: status },
    statusText: { value: statusText },
    ok: { value: ok },
    headers: { value: headers },
    url: { value: url },
    redirected: { value: redirected },
    type: { value: type },
    clone: { value: () => describeLike(given, Response.prototype.clone.call(response)) },
  });
}
