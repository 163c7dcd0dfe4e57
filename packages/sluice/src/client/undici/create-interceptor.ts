// The client as an interceptor of undici 7: `agent.compose(createInterceptor())`. It needs nothing of undici but the shape
// of its handlers, so importing it loads nothing.

import { ClientCore } from "../client-core.js";
import {
  type ClientOptions,
  type ClientSetup,
  callerOf,
  toClientSetup,
} from "../client-options.js";
import type { ClientStats, OriginStats } from "../events.js";
import { routeNameOf } from "../fetch/request-target.js";
import { type HeadersLike, headerOf, toLasting, withHeader } from "../headers/header-source.js";
import type { Outgoing } from "../outgoing-request.js";
import { isIdempotent } from "../retry/retryable.js";
import { UndiciAttempt } from "./undici-attempt.js";
import type {
  Dispatch,
  DispatchController,
  DispatchHandler,
  DispatchOptions,
} from "./undici-handlers.js";

/** What undici's `compose` takes, and what is known of its requests. Made by {@link createInterceptor}. */
export interface ClientInterceptor {
  (dispatch: Dispatch): Dispatch;
  /** Counters since it was made. */
  readonly stats: ClientStats;
  /** What is known of each origin. */
  readonly origins: readonly OriginStats[];
}

/**
 * An interceptor of undici 7 that paces requests, waits as long as the server asks, and retries what is safe to retry:
 * `new Agent().compose(createInterceptor())`. Bodies that are streams are not repeated. Each `Pool` or `Client` that it is
 * composed with is an origin of its own, which events call `dispatcher 1`, `dispatcher 2` and so on.
 *
 * @throws SluiceError `SLUICE_OPTION_INVALID` if an option can't be used.
 */
export function createInterceptor(options: ClientOptions = {}): ClientInterceptor {
  const setup = toClientSetup("createInterceptor", options);
  const core = new ClientCore(setup);
  let dispatchers = 0;
  const interceptor = (dispatch: Dispatch): Dispatch => {
    const to = { dispatch, name: `dispatcher ${++dispatchers}` };
    return (request: DispatchOptions, handler: DispatchHandler) => {
      const controller = new RequestController();
      const outgoing = toOutgoing(setup, to, request, handler, controller);
      // The caller can give up from now on, while the request still waits.
      handler.onRequestStart?.(controller, {});
      core.run(outgoing).then(
        (attempt) => attempt.deliver(),
        (error) => handler.onResponseError?.(controller, error),
      );
      return true;
    };
  };
  return Object.defineProperties(interceptor as ClientInterceptor, {
    stats: { get: () => core.stats, enumerable: true },
    origins: { get: () => core.origins, enumerable: true },
  });
}

/** The controller that the caller holds, whichever attempt is under way. */
class RequestController implements DispatchController {
  readonly #giveUp = new AbortController();
  target: UndiciAttempt | undefined;

  get signal(): AbortSignal {
    return this.#giveUp.signal;
  }

  get aborted(): boolean {
    return this.signal.aborted;
  }

  get reason(): unknown {
    return this.signal.reason;
  }

  pause(): void {
    this.target?.pause();
  }

  resume(): void {
    this.target?.resume();
  }

  abort(reason: Error): void {
    this.#giveUp.abort(reason);
    this.target?.abort(reason);
  }
}

/** What an interceptor was composed with. */
interface Dispatcher {
  readonly dispatch: Dispatch;
  /** Stands for the origin of a `Pool` or a `Client`, which connect to one and don't say to which. */
  readonly name: string;
}

const KEY_HEADER = "idempotency-key";

function toOutgoing(
  setup: ClientSetup,
  { dispatch, name }: Dispatcher,
  options: DispatchOptions,
  handler: DispatchHandler,
  controller: RequestController,
): Outgoing<UndiciAttempt> {
  const method = options.method.toUpperCase();
  const given = options.headers as HeadersLike;
  const headers = toLasting(given);
  const path = options.path.split("?", 1)[0] as string;
  const origin = options.origin ? originOf(options.origin) : name;
  // An empty key is none.
  const own = headerOf(headers, KEY_HEADER);
  const makesKey = !own && !isIdempotent(method);
  const key = makesKey ? setup.newIdempotencyKey?.() : undefined;
  const withKey = key === undefined ? headers : withHeader(headers, KEY_HEADER, key);
  // undici takes a list for names and values in turn.
  const request =
    withKey === given ? options : { ...options, headers: (withKey as [string, string][]).flat() };
  return {
    method,
    origin,
    routeName: routeNameOf(method, path),
    caller: callerOf(setup, method, `${origin}${options.path}`, headers),
    priority: "normal",
    deadlineMs: setup.deadlineMs,
    signal: controller.signal,
    isAborted: true,
    // An upgraded connection is not a response.
    isRepeatable: !options.upgrade && (!makesKey || Boolean(key)),
    isReplayable: isReplayable(options.body),
    bodyAdvice: "pass a string or a buffer",
    send: async (_attempt, limit) => {
      const attempt = new UndiciAttempt(handler, controller);
      controller.target = attempt;
      const abort = () => attempt.abort(limit?.reason as Error);
      limit?.addEventListener("abort", abort);
      try {
        return await attempt.dispatch(dispatch, request);
      } finally {
        limit?.removeEventListener("abort", abort);
      }
    },
    statusOf: ({ status }) => status,
    headersOf: (attempt) => attempt.headers,
    isOfOrigin: () => true,
    keep: (attempt) => attempt.keep(),
  };
}

/** A string or a URL, with a slash at the end or without one: it is the same origin. */
function originOf(given: string | URL): string {
  const url = String(given);
  return url.endsWith("/") ? url.slice(0, -1) : url;
}

/** undici sends strings and buffers again; streams, iterators and forms are read once. */
function isReplayable(body: unknown): boolean {
  if (body === undefined || body === null || typeof body === "string") return true;
  return body instanceof ArrayBuffer || ArrayBuffer.isView(body);
}
