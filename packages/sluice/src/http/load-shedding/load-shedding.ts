/**
 * Load shedding as middleware: an adaptive limit of concurrent requests in front of an application. For `node:http`,
 * Express, Connect and other frameworks whose middleware is `(req, res, next)`, and for handlers of fetch.
 *
 * @module
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import {
  type AdaptiveConcurrency,
  type AdaptivePermit,
  adaptiveConcurrency,
  type PermitOutcome,
} from "../../adaptive/adaptive-concurrency.js";
import { toResponse } from "../exchange/fetch/fetch-exchange.js";
import { sendNodeReply } from "../exchange/node/node-exchange.js";
import { isGone, watchEnd } from "../exchange/node/response-end.js";
import type { WholeResponse } from "../response/refusal.js";
import { type ShedLoadOptions, type ShedLoadSetup, toShedLoadSetup } from "./shed-load-options.js";
import { toShedResponse } from "./shed-response.js";

export { HEALTH_PATHS, type ShedLoadOptions, toHealthCheck } from "./shed-load-options.js";
export { type ShedReason, type ShedRetry, toShedResponse } from "./shed-response.js";

/** A handler of `createServer`. */
export type NodeHandler = (request: IncomingMessage, response: ServerResponse) => unknown;

/** A handler of fetch, with what the runtime passes besides the request. */
export type FetchHandler<Rest extends readonly unknown[]> = (
  request: Request,
  ...rest: Rest
) => Response | Promise<Response>;

/** A middleware that calls `next` if there is room for the request, and has answered it with 503 if not. */
export interface ShedLoad {
  (request: IncomingMessage, response: ServerResponse, next: (error?: unknown) => void): void;
  /** A handler for `createServer` that passes on what there is room for. */
  wrap(handler: NodeHandler): (request: IncomingMessage, response: ServerResponse) => void;
  /** A handler of fetch that runs only for requests that there is room for. */
  wrapFetch<Rest extends readonly unknown[]>(handler: FetchHandler<Rest>): FetchHandler<Rest>;
  /** The limit: how it stands, and `acquire` for work that does not come over HTTP. */
  readonly limit: AdaptiveConcurrency;
}

/**
 * Puts an adaptive limit of concurrent requests in front of an application. What there is no room for is answered with
 * 503 and Retry-After, the least important first.
 *
 * @throws SluiceError `SLUICE_OPTION_INVALID` if an option can't be used.
 */
export function shedLoad(options: ShedLoadOptions = {}): ShedLoad {
  const setup = toShedLoadSetup(options);
  const limit = adaptiveConcurrency(setup.adaptive);
  const shedder = new LoadShedder(setup, limit);
  const middleware = (
    request: IncomingMessage,
    response: ServerResponse,
    next: (error?: unknown) => void,
  ) => {
    if (shedder.admitsNode(request, response)) next();
  };
  return Object.assign(middleware, {
    limit,
    wrap: (handler: NodeHandler) => (request: IncomingMessage, response: ServerResponse) => {
      if (shedder.admitsNode(request, response)) handler(request, response);
    },
    wrapFetch:
      <Rest extends readonly unknown[]>(handler: FetchHandler<Rest>): FetchHandler<Rest> =>
      (request, ...rest) =>
        shedder.answer(request, () => handler(request, ...rest)),
  });
}

class LoadShedder {
  readonly #setup: ShedLoadSetup;
  readonly #limit: AdaptiveConcurrency;

  constructor(setup: ShedLoadSetup, limit: AdaptiveConcurrency) {
    this.#setup = setup;
    this.#limit = limit;
  }

  /** Whether the request may go on; if not, it is answered. */
  admitsNode(request: IncomingMessage, response: ServerResponse): boolean {
    const { method = "GET", url = "/" } = request;
    if (this.#setup.isHealthCheck(method, url)) return true;
    const permit = this.#limit.acquire({ priority: this.#setup.priorityOf(request) });
    if (!permit.allowed) {
      sendNodeReply(response, this.#refusalOf(permit));
      return false;
    }
    if (isGone(response)) {
      permit.release("ignored");
      return true;
    }
    onHead(response, () => permit.release(outcomeOfNode(request, response)));
    watchEnd(response, () => permit.release(request.complete ? "abandoned" : "ignored"));
    // The time until the body is read is the client's.
    if (hasBody(request)) request.once("end", () => permit.restart());
    return true;
  }

  async answer(request: Request, handle: () => Response | Promise<Response>): Promise<Response> {
    if (this.#setup.isHealthCheck(request.method, new URL(request.url).pathname)) return handle();
    const permit = this.#limit.acquire({ priority: this.#setup.priorityOf(request) });
    if (!permit.allowed) return toResponse(this.#refusalOf(permit));
    try {
      const response = await handle();
      permit.release(outcomeOf(response.status));
      return response;
    } catch (error) {
      permit.release(request.signal.aborted ? "abandoned" : "error");
      throw error;
    }
  }

  #refusalOf({ retryAfterMs }: AdaptivePermit): WholeResponse {
    return toShedResponse("overloaded", { retryAfterMs, jitterMsMax: this.#setup.jitterMsMax });
  }
}

/**
 * Calls back when the application has answered, which is when it sends the head of its response: what comes after that is
 * as slow as the client reads.
 */
function onHead(response: ServerResponse, call: () => void): void {
  const { writeHead } = response;
  // Node.js has no event for it, and calls this for implicit heads too.
  response.writeHead = function (this: ServerResponse, ...head: Parameters<typeof writeHead>) {
    const written = writeHead.apply(this, head);
    call();
    return written;
  } as typeof writeHead;
}

/**
 * The time until an answer to a request that is not there yet is the client's. A client that leaves without an answer before
 * it has sent its whole request says nothing either: otherwise clients that send half a body could lower the limit.
 */
function outcomeOfNode(request: IncomingMessage, { statusCode }: ServerResponse): PermitOutcome {
  const outcome = outcomeOf(statusCode);
  return outcome === "ok" && !request.complete ? "ignored" : outcome;
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers["content-length"] !== undefined || headers["transfer-encoding"] !== undefined;
}

function outcomeOf(status: number): PermitOutcome {
  if (status === 503) return "dropped";
  return status >= 500 ? "error" : "ok";
}
