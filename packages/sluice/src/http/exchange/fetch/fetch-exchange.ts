// A `Request` and its `Response`, for all frameworks that are built on them: adds headers, turns refusals into
// responses, waits for delays, and settles what the request holds when the response is out or the client is
// gone.

import { andThen, type MaybePromise } from "../../../base/maybe-promise.js";
import { HandledRequest, type RateLimitInfo } from "../../handler/handled-request.js";
import type { RequestHandler } from "../../handler/handler.js";
import type { HttpRequest } from "../../identity/http-request.js";
import type { WholeResponse } from "../../response/refusal.js";
import { eachField, type HeaderFields } from "../../response/response-headers.js";
import { whenSent } from "./response-end.js";

/** A request that was decided. */
export interface HandledFetchRequest {
  /** What the handler can learn and say about the limits of its request. */
  readonly info: RateLimitInfo;
  /** The response to send without asking the handler; undefined if the request may go on. */
  readonly response: Response | undefined;
  /** Whether `response` is a refusal, and not that of a client that is gone. */
  readonly isRefused: boolean;
  /**
   * The handler's response with the RateLimit headers. What the request holds is settled when its body
   * is out. The same object, unless its headers can't be written or something is held.
   */
  finish(response: Response): Response;
  /** Settles what the request holds if its handler threw: as a response with status 500. */
  fail(): void;
}

/** A client that disconnected while it waited sees no response; logs know this status for it. */
const GONE_STATUS = 499;

/** Has a request handler decide a request. */
export function handleFetchRequest(
  requestHandler: RequestHandler,
  httpRequest: HttpRequest,
  request: Request,
): MaybePromise<HandledFetchRequest> {
  const handling = requestHandler.handle(httpRequest);
  if (handling instanceof HandledRequest) return goOn(handling, request);
  // Read now: Node's adapter does not report an abort that happened before the signal was first read.
  const { signal } = request;
  return handling.then((handled) => {
    if (!signal.aborted) return goOn(handled, request);
    handled.finish({});
    return toGone(handled, request);
  });
}

function goOn(handled: HandledRequest, request: Request): MaybePromise<HandledFetchRequest> {
  const { refusal } = handled;
  if (refusal !== undefined) {
    return new FetchExchange(request, handled, toResponse(refusal, handled));
  }
  const found = new FetchExchange(request, handled, undefined);
  if (!handled.isHeld) return found;
  found.watch();
  return andThen(handled.waited(), (mayGoOn) => (mayGoOn ? found : toGone(handled, request)));
}

function toGone(handled: HandledRequest, request: Request): HandledFetchRequest {
  return new FetchExchange(request, handled, new Response(null, { status: GONE_STATUS }));
}

/** A whole response of ours: its own headers after those of every response. */
export function toResponse(
  { status, fields, body }: WholeResponse,
  handled?: { readonly fields: readonly string[] },
): Response {
  const headers = new Headers();
  addFields(headers, handled?.fields ?? []);
  addFields(headers, fields);
  return new Response(body === "" ? null : body, { status, headers });
}

class FetchExchange implements HandledFetchRequest {
  readonly response: Response | undefined;
  readonly #request: Request;
  readonly #handled: HandledRequest;

  constructor(request: Request, handled: HandledRequest, response: Response | undefined) {
    this.#request = request;
    this.#handled = handled;
    this.response = response;
  }

  get info(): RateLimitInfo {
    return this.#handled;
  }

  get isRefused(): boolean {
    return this.#handled.refusal !== undefined;
  }

  /** From now on a client that disconnects ends the request. */
  watch(): void {
    const { signal } = this.#request;
    signal.addEventListener("abort", this.#onGone);
    if (signal.aborted) this.#onGone();
  }

  finish(response: Response): Response {
    const handled = this.#handled;
    const answer = withFields(response, handled.fields);
    if (!handled.isHeld) return answer;
    this.#request.signal.removeEventListener("abort", this.#onGone);
    const { status, headers } = answer;
    const header = (name: string) => headers.get(name) ?? undefined;
    const body = handled.toBodyMeter({
      contentType: headers.get("content-type"),
      contentEncoding: headers.get("content-encoding"),
    });
    const onEnd = (bytes: number) => {
      handled.finish({ status, bytes, header, body });
    };
    return whenSent(this.#request, answer, onEnd, body);
  }

  fail(): void {
    if (!this.#handled.isHeld) return;
    this.#request.signal.removeEventListener("abort", this.#onGone);
    this.#handled.finish({ status: 500 });
  }

  readonly #onGone = (): void => {
    this.#handled.finish({});
  };
}

/** Ours replace headers of the same name. Headers of a response that came from elsewhere can't be written. */
function withFields(response: Response, fields: readonly string[]): Response {
  if (fields.length === 0) return response;
  try {
    addFields(response.headers, fields);
    return response;
  } catch (error) {
    // A switch of protocols can be neither written to nor copied.
    if (!(error instanceof TypeError) || response.status < 200) return response;
    const copy = new Response(response.body, response);
    addFields(copy.headers, fields);
    return copy;
  }
}

function addFields(headers: Headers, fields: HeaderFields): void {
  eachField(fields, (name, value) => headers.set(name, value));
}
