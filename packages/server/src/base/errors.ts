// Every error that the service throws, in one catalogue. A refusal is never here: it is an answer. An error
// says what was seen, and never shows a secret. What the library throws is a SluiceError of its own, with
// its own catalogue. docs/reference/service-errors.md describes each code, and a test keeps the two equal.

interface CatalogueEntry {
  /** The HTTP status of a response that reports it. */
  readonly status: number;
  /** What went wrong, completed by what was seen. */
  readonly summary: string;
}

/** The catalogue: code → status and summary. Codes are stable; messages may improve. */
export const serverErrorCatalogue = {
  SLUICE_CONFIG_INVALID: { status: 500, summary: "the configuration can't be used" },
  SLUICE_CONFIG_UNREADABLE: { status: 500, summary: "the configuration can't be read" },
  SLUICE_LISTEN_FAILED: { status: 500, summary: "can't listen on the address" },
  SLUICE_MMDB_INVALID: { status: 500, summary: "the MMDB file can't be used" },
  SLUICE_ENVOY_CONFIG_INVALID: { status: 500, summary: "the Envoy configuration can't be used" },
  SLUICE_WORKER_FAILED: { status: 500, summary: "a worker process failed" },
  SLUICE_UPSTREAM_UNAVAILABLE: { status: 502, summary: "the upstream did not answer" },
  SLUICE_UPSTREAM_BUSY: { status: 503, summary: "too many requests wait for the upstream" },
  SLUICE_UPSTREAM_TIMEOUT: { status: 504, summary: "the upstream took too long" },
  SLUICE_REQUEST_INVALID: { status: 400, summary: "the request is invalid" },
  SLUICE_UNAUTHORIZED: { status: 401, summary: "the request needs a bearer token" },
  SLUICE_NOT_FOUND: { status: 404, summary: "not found" },
  SLUICE_METHOD_NOT_ALLOWED: { status: 405, summary: "the path does not support that method" },
  SLUICE_FORBIDDEN: { status: 403, summary: "the request is not accepted from this origin" },
  SLUICE_ROLE_INSUFFICIENT: { status: 403, summary: "the caller's role does not allow it" },
  SLUICE_HOLD_UNKNOWN: { status: 404, summary: "nothing is held under that id" },
  SLUICE_IN_FLIGHT: {
    status: 409,
    summary: "a request with the same Idempotency-Key is under way",
  },
  SLUICE_OUTCOME_UNKNOWN: {
    status: 409,
    summary: "it is not known whether the request was carried out",
  },
  SLUICE_MEDIA_TYPE: { status: 415, summary: "the body must be application/json" },
  SLUICE_KEY_REUSED: {
    status: 422,
    summary: "the Idempotency-Key was used before with another request",
  },
  SLUICE_BODY_TOO_LARGE: { status: 413, summary: "the body is larger than allowed" },
  SLUICE_RULES_BUSY: { status: 503, summary: "too many rule sets wait to be read" },
  SLUICE_CONFLICT: { status: 409, summary: "the change conflicts with another" },
  SLUICE_NOT_CONTROL_NODE: { status: 409, summary: "only a control node answers that" },
  SLUICE_PRECONDITION_REQUIRED: { status: 428, summary: "the request must say what it replaces" },
  SLUICE_LOGIN_LIMITED: { status: 429, summary: "too many failed logins" },
  SLUICE_DATABASE_UNAVAILABLE: { status: 503, summary: "the database does not answer" },
  SLUICE_DATABASE_FAILED: { status: 500, summary: "the database reported an error" },
  SLUICE_DATABASE_UNSUPPORTED: { status: 500, summary: "the database server is not supported" },
  SLUICE_MIGRATION_INVALID: { status: 500, summary: "the database can't be migrated" },
  SLUICE_CONTROL_GAP: { status: 500, summary: "a change of the control plane is missing" },
  SLUICE_CONTROL_UNAVAILABLE: { status: 503, summary: "the control plane does not answer" },
  SLUICE_FAULT: { status: 500, summary: "the service failed" },
} as const satisfies Record<string, CatalogueEntry>;

/** A code of the catalogue. */
export type ServerErrorCode = keyof typeof serverErrorCatalogue;

/** Misuse or failure, with a stable `code`, an HTTP `status` and a message that says what was seen. */
export class ServerError extends Error {
  override readonly name: string = "ServerError";
  readonly code: ServerErrorCode;
  readonly status: number;

  /**
   * @param code - Which entry of the catalogue.
   * @param seen - What was seen, appended to the summary.
   * @param options - `cause`: the error behind it, for logs.
   */
  constructor(code: ServerErrorCode, seen: string, options?: { readonly cause?: unknown }) {
    super(`${serverErrorCatalogue[code].summary}: ${seen}`, options);
    this.code = code;
    this.status = serverErrorCatalogue[code].status;
  }
}

const SHOWN_LENGTH_MAX = 80;

/** Renders any value for an error message: short, on one line, of maps and lists no more than that. */
export function show(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(shorten(value));
  if (typeof value === "bigint") return shorten(`${value}n`);
  if (typeof value === "function") return "a function";
  if (typeof value === "symbol") return "a symbol";
  if (Array.isArray(value)) return value.length === 0 ? "an empty list" : "a list";
  if (typeof value === "object" && value !== null) return "a map";
  return String(value);
}

function shorten(text: string): string {
  return text.length <= SHOWN_LENGTH_MAX ? text : `${text.slice(0, SHOWN_LENGTH_MAX)}…`;
}
