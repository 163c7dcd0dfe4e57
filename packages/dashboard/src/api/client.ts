// Asks the admin port. Every change carries the CSRF token of the session, every failure becomes an ApiError that says
// what the service said, and a session that has ended is reported, so that the page can ask for a login. Until then the
// page asks nothing by itself.

import type { ReplyName, ReplyOf } from "sluice-server/api";

/** What is wrong with rules, and where. */
export interface RuleProblem {
  readonly message: string;
  readonly rule?: string;
  readonly line?: number;
  readonly column?: number;
}

/** An answer that is not a success, or no answer. */
export class ApiError extends Error {
  /** 0 if the service did not answer. */
  readonly status: number;
  /** `SLUICE_CONFLICT`; empty if the service did not answer. */
  readonly code: string;
  /** Other fields of the problem, such as `problems` and `current`. */
  readonly fields: Readonly<Record<string, unknown>>;

  constructor(status: number, fields: Readonly<Record<string, unknown>>) {
    super(typeof fields.detail === "string" ? fields.detail : `the service answered ${status}`);
    this.status = status;
    this.code = typeof fields.code === "string" ? fields.code : "";
    this.fields = fields;
  }

  /** What is wrong with rules; empty for other errors. */
  get problems(): readonly RuleProblem[] {
    const { problems } = this.fields;
    return Array.isArray(problems) ? (problems as RuleProblem[]) : [];
  }
}

/** What a request has besides its path. */
export interface ApiOptions {
  readonly method?: "GET" | "POST" | "PUT" | "DELETE";
  readonly body?: unknown;
  /** The revision that is replaced; `*` for any. */
  readonly ifMatch?: number | "*";
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** Whether the page asks by itself, not for what the user did: it does not prolong the session. Default false. */
  readonly isBackground?: boolean;
}

const REQUEST_MS_MAX = 30_000;
const NO_ANSWER =
  "The service does not answer. Is it running, and is this machine connected to it?";

const ENDED = "Your session has ended. Log in again.";

const BACKGROUND = { "Sluice-Background": "1" };

let csrfToken: string | null = null;
let onEnded = () => {};
let hasEnded = false;
/** Counts sessions: an answer to an earlier one says nothing about the present one. */
let sessions = 0;

/** Sets the token that changes carry, of a session that starts; null without one. */
export function setCsrfToken(token: string | null): void {
  csrfToken = token;
  hasEnded = false;
  sessions++;
}

/** Calls `task` when the service answers that the session has ended. */
export function onSessionEnded(task: () => void): void {
  onEnded = task;
}

/**
 * The answer to a request, as the service describes it.
 *
 * @param name - What is answered: it gives the type.
 * @throws ApiError
 */
export async function ask<N extends ReplyName>(
  _name: N,
  path: string,
  options: ApiOptions = {},
): Promise<ReplyOf<N>> {
  return (await request(path, options)) as ReplyOf<N>;
}

/**
 * The JSON that the service answers; text if it is something else.
 *
 * @throws ApiError
 */
export async function request(path: string, options: ApiOptions = {}): Promise<unknown> {
  if (hasEnded && options.isBackground === true) throw new ApiError(401, { detail: ENDED });
  const session = sessions;
  const response = await send(path, options);
  const isJson = response.headers.get("content-type")?.includes("json") === true;
  const body: unknown = isJson ? await response.json() : await response.text();
  if (response.ok) return body;
  if (response.status === 401 && path !== "/v1/session") endSession(session);
  throw new ApiError(response.status, isJson ? (body as Record<string, unknown>) : {});
}

/**
 * The body of a response that does not end. Streams are opened again by themselves, so they don't prolong the session.
 *
 * @throws ApiError if it is refused.
 */
export async function openStream(
  path: string,
  { query, headers, signal }: Pick<ApiOptions, "query" | "headers" | "signal">,
): Promise<ReadableStream<Uint8Array>> {
  const session = sessions;
  const response = await fetch(`${path}${toSearch(query)}`, {
    headers: { ...headers, ...BACKGROUND },
    cache: "no-store",
    ...(signal && { signal }),
  });
  if (response.ok && response.body !== null) return response.body;
  if (response.status === 401) endSession(session);
  const fields = (await response.json().catch(() => ({}))) as Record<string, unknown>;
  throw new ApiError(response.status, fields);
}

function endSession(session: number): void {
  if (session !== sessions) return;
  hasEnded = true;
  onEnded();
}

async function send(path: string, options: ApiOptions): Promise<Response> {
  const { method = "GET", body, query, signal } = options;
  const timeout = AbortSignal.timeout(REQUEST_MS_MAX);
  try {
    return await fetch(`${path}${toSearch(query)}`, {
      method,
      headers: headersOf(options),
      credentials: "same-origin",
      cache: "no-store",
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  } catch (error) {
    if (signal?.aborted === true) throw error;
    throw new ApiError(0, { detail: NO_ANSWER });
  }
}

function headersOf(options: ApiOptions): Record<string, string> {
  const { method = "GET", body, ifMatch, headers, isBackground = false } = options;
  return {
    ...(isBackground && BACKGROUND),
    ...(body === undefined ? {} : { "Content-Type": "application/json" }),
    ...(method === "GET" || csrfToken === null ? {} : { "X-CSRF-Token": csrfToken }),
    ...(ifMatch === undefined ? {} : { "If-Match": ifMatch === "*" ? "*" : `"${ifMatch}"` }),
    ...headers,
  };
}

function toSearch(query: ApiOptions["query"] = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  if (given.length === 0) return "";
  return `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`;
}
