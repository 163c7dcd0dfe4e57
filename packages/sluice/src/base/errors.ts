// Every error that Sluice throws and every warning that it gives, each in one catalogue. A denial is
// never here: it is a value. An error means misuse or failure, a warning that nobody listens to what
// should be heard; either says what was seen. docs/reference/errors.md describes each code, and a test
// keeps the two equal.

interface CatalogueEntry {
  /** The HTTP status that a service should answer when this error reaches its edge. */
  readonly status: number;
  /** What went wrong, completed by what was seen. */
  readonly summary: string;
}

/** The catalogue: code → status and summary. Codes are stable; texts may improve. */
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
  SLUICE_LIMIT_INVALID: { status: 500, summary: "the limit cannot hold" },
  SLUICE_OPTION_INVALID: { status: 500, summary: "the option is not usable" },
  SLUICE_RULES_INVALID: { status: 500, summary: "the rules can't be used" },
  SLUICE_RULE_UNKNOWN: { status: 404, summary: "there is no rule of that id" },
  SLUICE_RULE_KEY_INVALID: { status: 400, summary: "the rule counts no such key" },
  SLUICE_ACQUIRE_ONLY: {
    status: 500,
    summary: "a limiter with a concurrency limit can't check, reserve or refund alone: use acquire",
  },
  SLUICE_NOTHING_TO_ACQUIRE: {
    status: 500,
    summary: "acquire needs a limiter with a concurrency limit",
  },
  SLUICE_ALREADY_SETTLED: {
    status: 409,
    summary: "the reservation was committed or cancelled before",
  },
  SLUICE_NOT_ADMITTED: { status: 409, summary: "a refused reservation holds nothing to commit" },
  SLUICE_TOO_MANY_LIMITS: {
    status: 500,
    summary: "one memory store tells at most 65535 different limits apart",
  },
  SLUICE_TOO_MANY_WAITING: {
    status: 503,
    summary: "at most 10000 callers may wait for one limiter",
  },
  SLUICE_STORE_UNAVAILABLE: { status: 503, summary: "the store did not answer" },
  SLUICE_STORE_UNSUPPORTED: { status: 500, summary: "the server can't be used as a store" },
  SLUICE_KEY_SECRET_MISSING: {
    status: 500,
    summary: "a key that is a secret is stored as a keyed hash only, which needs keySecret",
  },
  SLUICE_NOT_LEASABLE: {
    status: 500,
    summary: "a concurrency limit or a leaky bucket that shapes can't be leased or be eventual",
  },
  SLUICE_CLOSED: { status: 503, summary: "it was used after it was closed" },
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
   */
  constructor(code: SluiceErrorCode, seen: string) {
    super(`${errorCatalogue[code].summary}: ${seen}`);
    this.code = code;
    this.status = errorCatalogue[code].status;
  }
}

/** The warnings: code → summary. Codes are stable; texts may improve. */
export const warningCatalogue = {
  SLUICE_FALLBACK: "decisions are made without the store",
  SLUICE_REDIS: "the Redis server was not found fit",
  SLUICE_RULES: "the rules stay as they are",
  SLUICE_PEER_UNKNOWN: "a rule counts by address, and this runtime shows none",
  SLUICE_PROXY_UNTRUSTED: "requests come through a proxy that is not trusted",
} as const satisfies Record<string, string>;

/** A code of the warnings. */
export type SluiceWarningCode = keyof typeof warningCatalogue;

/** Warns by way of the process, or on the console of a platform that has none. `seen` as in an error. */
export function warn(code: SluiceWarningCode, seen: string): void {
  const text = `${warningCatalogue[code]}: ${seen}`;
  const { process } = globalThis;
  if (typeof process?.emitWarning === "function") {
    process.emitWarning(text, { type: "SluiceWarning", code });
  } else console.warn(`[${code}] SluiceWarning: ${text}`);
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
    // A cycle or a throwing toJSON: its type is all that can be said of it.
    return Array.isArray(value) ? "an array" : "an object";
  }
}

function shorten(text: string): string {
  return text.length <= SHOWN_LENGTH_MAX ? text : `${text.slice(0, SHOWN_LENGTH_MAX)}…`;
}
