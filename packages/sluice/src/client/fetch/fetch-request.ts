// One request as fetch sends it: its target, its body and its idempotency key, for each attempt.

import { PRIORITIES, type Priority } from "../../adaptive/priority.js";
import { show } from "../../base/errors.js";
import { asOptions, refuse } from "../../base/shapes/code-options.js";
import { isSignal, type WaitSignal } from "../../limiter/waiter.js";
import { type ClientSetup, callerOf } from "../client-options.js";
import { newIdempotencyKey } from "../client-random.js";
import {
  type HeaderSource,
  type HeadersLike,
  headerOf,
  toLasting,
  withHeader,
} from "../headers/header-source.js";
import type { Kept, Outgoing } from "../outgoing-request.js";
import { isIdempotent } from "../retry/retryable.js";
import { sendWithBoth } from "./joined-signal.js";
import { KeptResponse } from "./kept-response.js";
import { RecordedBody } from "./recorded-body.js";
import { isReplayable, type RequestBody } from "./replayed-body.js";
import { routeNameOf, targetOf } from "./request-target.js";

/** A function like `fetch`. */
export type FetchFunction = (
  input: string | URL | Request,
  init?: RequestInit,
) => Promise<Response>;

/** Options of a single request, besides those of fetch. */
export interface RequestControls {
  /** How important it is while not all can be sent; default `"normal"`. */
  priority?: Priority;
  /** Instead of the client's `deadlineMs`. */
  deadlineMs?: number;
  /**
   * The value of its Idempotency-Key header, so that it may be repeated whatever its method; `true` for a new one. Not
   * needed if its headers have one.
   */
  idempotencyKey?: string | true;
  /** Makes a new body for each attempt. For streams, which can be read only once. */
  body?: () => RequestBody;
}

const CONTROLS = ["priority", "deadlineMs", "idempotencyKey", "body"] as const;
const REQUEST_SITE = { name: "fetch", code: "SLUICE_OPTION_INVALID" } as const;
const KEY_HEADER = "idempotency-key";
const NO_CONTROLS: RequestControls = {};

/** A request of fetch. A class, since an object literal would create several functions for each request. */
export class FetchRequest implements Outgoing<Response> {
  readonly method: string;
  readonly origin: string;
  readonly routeName: string;
  readonly caller: string;
  readonly priority: Priority;
  readonly deadlineMs: number;
  readonly signal: WaitSignal | undefined;
  readonly isAborted: boolean;
  readonly isRepeatable: boolean;
  readonly bodyAdvice = "pass a function that makes the body";
  readonly #setup: ClientSetup;
  readonly #fetch: FetchFunction;
  readonly #input: string | URL | Request;
  readonly #init: RequestInit | undefined;
  readonly #headers: HeadersLike;
  readonly #newBody: (() => RequestBody) | undefined;
  readonly #key: string | undefined;
  /** The request to copy, if it has a body of its own that may have to be sent again: that can be read only once. */
  readonly #copied: Request | undefined;
  /** What the first attempt left of that body. */
  #recorded: RecordedBody | undefined;

  constructor(
    setup: ClientSetup,
    fetch: FetchFunction,
    input: string | URL | Request,
    init: RequestInit | undefined,
    given: RequestControls | undefined,
  ) {
    const controls = given === undefined ? NO_CONTROLS : readControls(given);
    const request = isRequest(input) ? input : undefined;
    const url = request?.url ?? String(input);
    const target = targetOf(url);
    const method = (init?.method ?? request?.method ?? "GET").toUpperCase();
    const givenHeaders = (init?.headers ?? request?.headers) as HeadersLike;
    const headers = toLasting(givenHeaders);
    this.#setup = setup;
    this.#fetch = fetch;
    this.#input = input;
    this.#init = headers === givenHeaders ? init : ({ ...init, headers } as RequestInit);
    this.#headers = headers;
    this.#newBody = controls.body;
    this.#key = keyOf(setup, controls, method, headers);
    this.method = method;
    this.origin = target.origin;
    this.routeName = method === "GET" ? target.getRoute : routeNameOf(method, target.path);
    this.caller = callerOf(setup, method, url, headers);
    this.priority = controls.priority ?? "normal";
    this.deadlineMs = controls.deadlineMs ?? setup.deadlineMs;
    // As in fetch, null detaches a Request from its own signal.
    this.signal = toSignal(init?.signal === undefined ? request?.signal : init.signal);
    this.isAborted = setup.isAborting || controls.deadlineMs !== undefined;
    // An empty key is none: the server could not tell a repeated request from a new one.
    this.isRepeatable = isIdempotent(method) || Boolean(this.#key ?? headerOf(headers, KEY_HEADER));
    const isReplaced = controls.body !== undefined || (init?.body ?? null) !== null;
    const hasOwnBody = !isReplaced && (request?.body ?? null) !== null;
    this.#copied = hasOwnBody && this.isRepeatable ? request : undefined;
  }

  get isReplayable(): boolean {
    if (this.#copied !== undefined) return this.#recorded?.isWhole === true;
    return this.#newBody !== undefined || isReplayable(this.#init?.body);
  }

  send(attempt: number, limit: AbortSignal | undefined): Promise<Response> {
    let init = this.#init;
    const body = this.#newBody?.() ?? this.#recorded?.toBytes();
    // fetch wants it with streams, and ignores it with other bodies.
    if (body !== undefined) init = { duplex: "half", ...init, body } as RequestInit;
    if (this.#key !== undefined)
      init = { ...init, headers: withHeader(this.#headers, KEY_HEADER, this.#key) };
    const input = attempt === 1 && this.#setup.retriesMax > 0 ? this.#record() : this.#input;
    if (limit === undefined) return this.#fetch(input, init);
    const own = this.signal;
    if (own === undefined) return this.#fetch(input, { ...init, signal: limit });
    return sendWithBoth(own, limit, (signal) => this.#fetch(input, { ...init, signal }));
  }

  /** What the first attempt sends. A copy has the length that the request has, if that is known. */
  #record(): string | URL | Request {
    const copy = this.#copied?.clone();
    const branch = this.#copied?.body;
    if (branch) this.#recorded = new RecordedBody(branch);
    return copy ?? this.#input;
  }

  statusOf({ status }: Response): number {
    return status;
  }

  headersOf({ headers }: Response): HeaderSource {
    return headers;
  }

  isOfOrigin({ redirected, url }: Response): boolean {
    return !redirected || targetOf(url).origin === this.origin;
  }

  keep(response: Response): Kept<Response> {
    return new KeptResponse(response);
  }
}

function readControls(controls: RequestControls): RequestControls {
  const { priority, deadlineMs, idempotencyKey, body } = asOptions(
    REQUEST_SITE,
    controls,
    CONTROLS,
  ) as RequestControls;
  if (priority !== undefined && !PRIORITIES.includes(priority))
    refuse(REQUEST_SITE, `priority must be one of ${PRIORITIES.join(", ")}, got ${show(priority)}`);
  if (deadlineMs !== undefined && !(typeof deadlineMs === "number" && deadlineMs >= 1))
    refuse(REQUEST_SITE, `deadlineMs must be a number from 1, got ${show(deadlineMs)}`);
  if (body !== undefined && typeof body !== "function")
    refuse(REQUEST_SITE, `body must be a function that makes one, got ${show(body)}`);
  const isKey = typeof idempotencyKey === "string" && idempotencyKey !== "";
  if (idempotencyKey !== undefined && idempotencyKey !== true && !isKey)
    refuse(
      REQUEST_SITE,
      `idempotencyKey must be a string that is not empty, or true, got ${show(idempotencyKey)}`,
    );
  return controls;
}

/** Not `instanceof`: the request may be of another implementation. */
function isRequest(input: string | URL | Request): input is Request {
  return typeof input === "object" && "url" in input;
}

/** The key to add; undefined if none is to be added. */
function keyOf(
  setup: ClientSetup,
  controls: RequestControls,
  method: string,
  headers: HeadersLike,
): string | undefined {
  const { idempotencyKey } = controls;
  if (typeof idempotencyKey === "string") return idempotencyKey;
  const newKey = setup.newIdempotencyKey;
  if (idempotencyKey !== true && (newKey === undefined || isIdempotent(method))) return undefined;
  return headerOf(headers, KEY_HEADER) ? undefined : (newKey ?? newIdempotencyKey)();
}

function toSignal(signal: unknown): WaitSignal | undefined {
  return isSignal(signal) ? signal : undefined;
}
