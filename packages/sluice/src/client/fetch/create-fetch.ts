// A well-behaved fetch: the same function, which paces itself, waits as long as the server asks, and retries what is safe
// to retry.

import { show } from "../../base/errors.js";
import { refuse } from "../../base/shapes/code-options.js";
import { ClientCore } from "../client-core.js";
import { type ClientOptions, toClientSetup } from "../client-options.js";
import type { ClientStats, OriginStats } from "../events.js";
import { type FetchFunction, FetchRequest, type RequestControls } from "./fetch-request.js";

/** Options of {@link createFetch}. */
export interface FetchOptions extends ClientOptions {
  /** What sends requests; default: the global `fetch`, as it is when a request is made. */
  fetch?: FetchFunction;
}

/** A well-behaved fetch, and what is known of its requests. Made by {@link createFetch}. */
export interface ClientFetch {
  /**
   * Like `fetch`. Resolves to the last response, even if that is a refusal.
   *
   * @throws SluiceError `SLUICE_CLIENT_DEADLINE`, `SLUICE_CLIENT_QUEUE_FULL`, `SLUICE_CLIENT_CIRCUIT_OPEN` or
   * `SLUICE_CLIENT_BODY_SPENT` if there is no response to return; what `fetch` threw if the connection failed; the
   * signal's reason if it was aborted.
   */
  (
    input: string | URL | Request,
    init?: RequestInit,
    controls?: RequestControls,
  ): Promise<Response>;
  /** Counters since it was made. */
  readonly stats: ClientStats;
  /** What is known of each origin. */
  readonly origins: readonly OriginStats[];
}

const SITE = { name: "createFetch", code: "SLUICE_OPTION_INVALID" } as const;

/**
 * Wraps `fetch`, or another function like it.
 *
 * @throws SluiceError `SLUICE_OPTION_INVALID` if an option can't be used.
 */
export function createFetch(options: FetchOptions = {}): ClientFetch {
  const { fetch: own, ...rest } = Object(options) as FetchOptions;
  if (own !== undefined && typeof own !== "function")
    refuse(SITE, `fetch must be a function, got ${show(own)}`);
  const setup = toClientSetup(SITE.name, typeof options === "object" ? rest : options);
  const core = new ClientCore(setup);
  const send: FetchFunction = own ?? ((input, init) => globalThis.fetch(input, init));
  const clientFetch = (
    input: string | URL | Request,
    init?: RequestInit,
    controls?: RequestControls,
  ): Promise<Response> => {
    try {
      return core.run(new FetchRequest(setup, send, input, init, controls));
    } catch (error) {
      return Promise.reject(error);
    }
  };
  return Object.defineProperties(clientFetch as unknown as ClientFetch, {
    stats: { get: () => core.stats, enumerable: true },
    origins: { get: () => core.origins, enumerable: true },
  });
}
