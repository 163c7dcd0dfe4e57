// The errors that Sluice throws and the warnings that it emits, each in one catalogue. An error means misuse or
// failure, and a message says what was seen. A denial is neither: it is a value. docs/reference/errors.md
// describes each code, and a test keeps the two equal.

interface CatalogueEntry {
  /** The HTTP status that a service should answer with if it does not handle the error. */
  readonly status: number;
  /** What went wrong, completed by what was seen. */
  readonly summary: string;
}

/** The catalogue: code → status and summary. Codes are stable; summaries may improve. */
export const errorCatalogue = {
  SLUICE_COST_INVALID: { status: 400, summary: "cost must be a whole number from 0 to 2^53 - 1" },
  SLUICE_KEY_INVALID: {
    status: 400,
    summary: "key must be a non-empty string of at most 65536 characters",
  },
  SLUICE_TIME_INVALID: {
    status: 400,
    summary: "nowMs must be a number of milliseconds from 0 to the end of the year 2100",
  },
  SLUICE_DURATION_INVALID: {
    status: 400,
    summary: "forMs must be a whole number of milliseconds from 1, or Infinity",
  },
  SLUICE_REQUEST_ID_INVALID: {
    status: 400,
    summary: "requestId must be a non-empty string of at most 256 characters",
  },
  SLUICE_REQUEST_ID_REUSED: {
    status: 409,
    summary: "requestId was used before with another key, cost or verb",
  },
  SLUICE_LIMIT_INVALID: { status: 500, summary: "invalid limit" },
  SLUICE_OPTION_INVALID: { status: 500, summary: "invalid option" },
  SLUICE_RULES_INVALID: { status: 500, summary: "invalid rules" },
  SLUICE_LIST_INVALID: { status: 500, summary: "invalid list of addresses" },
  SLUICE_RULE_UNKNOWN: { status: 404, summary: "unknown rule" },
  SLUICE_RULE_KEY_INVALID: { status: 400, summary: "the rule does not count this key" },
  SLUICE_ACQUIRE_ONLY: {
    status: 500,
    summary: "a concurrency limit can't be checked, reserved or refunded; use acquire",
  },
  SLUICE_NOTHING_TO_ACQUIRE: {
    status: 500,
    summary: "acquire needs a limiter with a concurrency limit",
  },
  SLUICE_ALREADY_SETTLED: {
    status: 409,
    summary: "the reservation was already committed or cancelled",
  },
  SLUICE_NOT_ADMITTED: { status: 409, summary: "a refused reservation can't be committed" },
  SLUICE_TOO_MANY_LIMITS: {
    status: 500,
    summary: "one memory store holds at most 65535 different limits",
  },
  SLUICE_TOO_MANY_WAITING: {
    status: 503,
    summary: "at most 10000 callers may wait for one limiter",
  },
  SLUICE_STORE_UNAVAILABLE: { status: 503, summary: "the store did not answer" },
  SLUICE_HOME_FENCED: {
    status: 503,
    summary: "the store does not decide for the home region under this epoch",
  },
  SLUICE_STORE_UNSUPPORTED: { status: 500, summary: "the server can't be used as a store" },
  SLUICE_KEY_SECRET_MISSING: {
    status: 500,
    summary:
      "keySecret is required for keys that are secrets, which are stored only as keyed hashes",
  },
  SLUICE_NOT_LEASABLE: {
    status: 500,
    summary: "a concurrency limit, a shaping leaky bucket or a sketch can't be leased or eventual",
  },
  SLUICE_CLOSED: { status: 503, summary: "used after it was closed" },
  SLUICE_CLIENT_QUEUE_FULL: {
    status: 503,
    summary: "too many requests are waiting to be sent, and this one is the least important",
  },
  SLUICE_CLIENT_DEADLINE: {
    status: 504,
    summary: "the request can't be answered by its deadline",
  },
  SLUICE_CLIENT_CIRCUIT_OPEN: {
    status: 503,
    summary: "the origin keeps failing, so no request is sent",
  },
  SLUICE_CLIENT_BODY_SPENT: {
    status: 502,
    summary: "the request failed, and its body can't be sent again",
  },
} as const satisfies Record<string, CatalogueEntry>;

/** A code of the catalogue. */
export type SluiceErrorCode = keyof typeof errorCatalogue;

/** Misuse or failure, with a stable `code`, an HTTP `status` and a message that says what was seen. */
export class SluiceError extends Error {
  override readonly name = "SluiceError";
  readonly code: SluiceErrorCode;
  readonly status: number;

  /**
   * @param code - Which entry of the catalogue.
   * @param seen - What was seen, appended to the summary.
   * @param options - The error that caused it, if one did.
   */
  constructor(code: SluiceErrorCode, seen: string, options?: ErrorOptions) {
    super(`${errorCatalogue[code].summary}: ${seen}`, options);
    this.code = code;
    this.status = errorCatalogue[code].status;
  }
}

/** The warnings: code → summary. Codes are stable; summaries may improve. */
export const warningCatalogue = {
  SLUICE_FALLBACK: "decisions are made without the store",
  SLUICE_REDIS: "the Redis server may not be suitable as a store",
  SLUICE_RULES: "the rules in force stay unchanged",
  SLUICE_PEER_UNKNOWN: "a rule counts by address, but this runtime does not provide one",
  SLUICE_CHALLENGE_UNSET:
    "a rule has onExceed: challenge, but the option challenge is not set, so it rejects",
  SLUICE_PROXY_UNTRUSTED: "requests come through a proxy that is not trusted",
} as const satisfies Record<string, string>;

/** A code of the warnings. */
export type SluiceWarningCode = keyof typeof warningCatalogue;

/** Emits a process warning, or writes to the console on runtimes without one. `seen` is as in an error. */
export function warn(code: SluiceWarningCode, seen: string): void {
  const message = `${warningCatalogue[code]}: ${seen}`;
  const { process } = globalThis;
  if (typeof process?.emitWarning === "function") {
    process.emitWarning(message, { type: "SluiceWarning", code });
  } else console.warn(`[${code}] SluiceWarning: ${message}`);
}

const SHOWN_LENGTH_MAX = 80;

/** Renders any value for an error message: short, on one line, with its type where that matters. */
export function show(value: unknown): string {
  if (typeof value === "number" || value === null || value === undefined) return String(value);
  if (typeof value === "bigint") return shorten(`${value}n`);
  if (typeof value === "string") return JSON.stringify(shorten(value));
  if (typeof value === "function") return "a function";
  if (typeof value === "symbol") return `a symbol ${show(value.description)}`;
  return shorten(describeObject(value));
}

function describeObject(value: unknown): string {
  try {
    return JSON.stringify(value) ?? typeof value;
  } catch {
    // A cycle, or a toJSON that throws: show the type only.
    return Array.isArray(value) ? "an array" : "an object";
  }
}

function shorten(text: string): string {
  return text.length <= SHOWN_LENGTH_MAX ? text : `${text.slice(0, SHOWN_LENGTH_MAX)}…`;
}
