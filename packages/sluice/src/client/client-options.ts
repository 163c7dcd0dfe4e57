// The options of a client, checked and filled in.

import { type Clock, toClock } from "../base/clock.js";
import { show } from "../base/errors.js";
import { anyFunction, orFunction, readOptions, refuse } from "../base/shapes/code-options.js";
import {
  anyNumber,
  anything,
  flag,
  object,
  optional,
  wholeNumber,
  withDefault,
} from "../base/shapes/shapes.js";
import { newIdempotencyKey, type Random, systemRandom } from "./client-random.js";
import type { ClientEvent } from "./events.js";
import { type HeadersLike, headerOf } from "./headers/header-source.js";

/** What `partition` gets to see of a request. */
export interface PartitionedRequest {
  /** In upper case. */
  readonly method: string;
  readonly url: string;
  /** One header of the request by its name in lower case; undefined if it is not there. */
  header(name: string): string | undefined;
}

/** Options of `createFetch` and `createInterceptor`. */
export interface ClientOptions {
  /**
   * Whether requests are paced by the quotas that responses report and by what was refused; default true. With false
   * the client only waits as long as refusals ask for.
   */
  pace?: boolean;
  /** How long pacing alone holds a request back, from 0 to 600,000 ms; default 10,000, and never above half its deadline. */
  paceMsMax?: number;
  /**
   * Names the caller that a server counts a request for; default: the Authorization or X-API-Key header, as a digest.
   * Requests of one origin and one name are paced together.
   */
  partition?: (request: PartitionedRequest) => string;
  /** How often a request is sent again at most, from 0 to 10; default 3. */
  retriesMax?: number;
  /** Retries for each request to an origin on average, from 0 to 1; default 0.1. Ten are free at the start. */
  retryShare?: number;
  /** The bound of the random wait before the first retry, from 1 ms; it doubles with each. Default 250. */
  backoffMs?: number;
  /** The bound never grows beyond this; default 20,000. */
  backoffMsMax?: number;
  /**
   * How long the response's headers may take, all waits and retries included, from 1 ms; default 60,000. Infinity
   * for none. With a deadline of your own, here or for a request, an attempt that is in flight by then is aborted. After
   * the default deadline the client only stops waiting for it, since a signal makes a request a tenth more expensive, and
   * the timeouts of `fetch` end the connection. Once this has happened, later attempts to that origin are aborted.
   */
  deadlineMs?: number;
  /** The same for a single attempt; default Infinity. */
  attemptMsMax?: number;
  /**
   * Whether requests that are not idempotent, such as POST, get an Idempotency-Key header, which repeats with each retry;
   * default false, since only a server that knows the header makes the retry safe. A function makes the keys itself.
   */
  idempotencyKeys?: boolean | (() => string);
  /** The most requests in flight to one origin, however well it answers, from 1 to 100,000; default 256. */
  concurrencyMax?: number;
  /** The most requests that wait for one origin, from 0 to 1,000,000; default 1,000. */
  waitingMax?: number;
  /** Failures of an origin in a row that open its circuit breaker, from 1 to 1,000; default 10. */
  failuresMax?: number;
  /** How long the circuit breaker stays open at first, from 1 to 600,000 ms; default 1,000. */
  openMs?: number;
  /** The most origins, and partitions of all origins, that are remembered, from 1 to 1,000,000; default 1,000. */
  originsMax?: number;
  /** Called with everything that happens. What it throws is ignored. */
  onEvent?: (event: ClientEvent) => void;
  /** Default: the system's clock. */
  clock?: Clock;
  /** Random numbers from 0 to below 1, for jitter; default: those of the system. */
  random?: Random;
}

/** Options, checked and filled in. */
export interface ClientSetup {
  readonly isPaced: boolean;
  readonly paceMsMax: number;
  /** Default: by credentials. */
  readonly partition: ((request: PartitionedRequest) => string) | undefined;
  readonly retriesMax: number;
  readonly retryShare: number;
  readonly backoffMs: number;
  readonly backoffMsMax: number;
  readonly deadlineMs: number;
  readonly attemptMsMax: number;
  /** Whether fetch gets a signal that ends attempts in flight. */
  readonly isAborting: boolean;
  readonly newIdempotencyKey: (() => string) | undefined;
  readonly concurrencyMax: number;
  readonly waitingMax: number;
  readonly failuresMax: number;
  readonly openMs: number;
  readonly originsMax: number;
  readonly onEvent: ((event: ClientEvent) => void) | undefined;
  readonly clock: Clock;
  readonly random: Random;
}

const MS_MAX = 600_000;
const FOREVER = { min: 1, max: Number.POSITIVE_INFINITY };

const OPTIONS = object({
  pace: withDefault(flag, true),
  paceMsMax: withDefault(wholeNumber({ min: 0, max: MS_MAX }), 10_000),
  partition: optional(anyFunction),
  retriesMax: withDefault(wholeNumber({ min: 0, max: 10 }), 3),
  retryShare: withDefault(anyNumber({ min: 0, max: 1 }), 0.1),
  backoffMs: withDefault(wholeNumber({ min: 1, max: MS_MAX }), 250),
  backoffMsMax: withDefault(wholeNumber({ min: 1, max: MS_MAX }), 20_000),
  deadlineMs: withDefault(anyNumber(FOREVER), 60_000),
  attemptMsMax: withDefault(anyNumber(FOREVER), Number.POSITIVE_INFINITY),
  idempotencyKeys: withDefault(orFunction(flag), false),
  concurrencyMax: withDefault(wholeNumber({ min: 1, max: 100_000 }), 256),
  waitingMax: withDefault(wholeNumber({ min: 0, max: 1_000_000 }), 1_000),
  failuresMax: withDefault(wholeNumber({ min: 1, max: 1_000 }), 10),
  openMs: withDefault(wholeNumber({ min: 1, max: MS_MAX }), 1_000),
  originsMax: withDefault(wholeNumber({ min: 1, max: 1_000_000 }), 1_000),
  onEvent: optional(anyFunction),
  clock: optional(anything()),
  random: optional(anyFunction),
} satisfies Record<keyof ClientOptions, unknown>);

const PARTITION_SITE = { name: "partition", code: "SLUICE_OPTION_INVALID" } as const;

/** Checks options and fills in defaults. `name` is the function that got them. */
export function toClientSetup(name: string, options: ClientOptions): ClientSetup {
  const site = { name, code: "SLUICE_OPTION_INVALID" } as const;
  const { pace, idempotencyKeys, clock, random, ...given } = readOptions(site, OPTIONS, options);
  const ownKeys = typeof idempotencyKeys === "function" ? idempotencyKeys : newIdempotencyKey;
  return {
    ...given,
    isPaced: pace,
    isAborting: options.deadlineMs !== undefined || options.attemptMsMax !== undefined,
    newIdempotencyKey: idempotencyKeys === false ? undefined : ownKeys,
    clock: toClock(site, clock),
    random: random ?? systemRandom,
  };
}

/** Who the server counts a request for. Credentials only tell callers apart, and are kept as a digest. */
export function callerOf(
  { partition }: ClientSetup,
  method: string,
  url: string,
  headers: HeadersLike,
): string {
  if (partition !== undefined) {
    const name = partition({ method, url, header: (field) => headerOf(headers, field) });
    if (typeof name === "string") return name;
    refuse(PARTITION_SITE, `must return a string, got ${show(name)}`);
  }
  if (headers === undefined) return "";
  return headerOf(headers, "authorization") ?? headerOf(headers, "x-api-key") ?? "";
}
