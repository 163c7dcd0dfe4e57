// Responses of the decision API: JSON in one piece, with its length. Errors are problems (RFC 9457) that name the field
// they are about; faults of the service are logged, and the caller does not see their details.

import { SluiceError } from "sluice";
import type { Exchange } from "sluice-http1";
import { ServerError } from "../base/errors.js";
import { PROBLEM_LINES, type Problem } from "../base/http/problem.js";
import { FieldError, InputError } from "./input-error.js";

/**
 * Sends an answer in one piece.
 *
 * @param lines - Further headers, each ending with CRLF.
 */
export function sendJson(exchange: Exchange, status: number, body: string, lines = ""): void {
  exchange.reply(status, status < 400 ? JSON_LINE + lines : toProblemLines(status) + lines, body);
}

const JSON_LINE = "Content-Type: application/json\r\n";

function toProblemLines(status: number): string {
  return status === 401 ? `${PROBLEM_LINES}WWW-Authenticate: Bearer\r\n` : PROBLEM_LINES;
}

/** The problem that an error is to the caller; undefined if it is a fault of the service, whose details stay private. */
export function toProblem(error: unknown): Problem | undefined {
  if (error instanceof InputError) return toProblem(error.toServerError());
  if (error instanceof FieldError) {
    const { status, code, message: detail, field } = error;
    return field === "" ? { status, code, detail } : { status, code, detail, field };
  }
  if (error instanceof ServerError || error instanceof SluiceError) {
    const { status, code, message: detail } = error;
    // Over HTTP, the wrong verb for a limit is a mistake of the caller, not of the code.
    if (MISUSED.has(code)) return { status: 400, code, detail };
    return status < 500 || status === 503 ? { status, code, detail } : undefined;
  }
  return undefined;
}

const MISUSED: ReadonlySet<string> = new Set(["SLUICE_ACQUIRE_ONLY", "SLUICE_NOTHING_TO_ACQUIRE"]);

const FAULT: Problem = { status: 500, code: "SLUICE_FAULT", detail: "the service failed" };

/** The same, with a general problem for faults of the service. */
export function toPublicProblem(error: unknown): Problem {
  return toProblem(error) ?? FAULT;
}
