// Requests admitted lately, by their requestId, so that one that is sent twice counts once. Only
// admissions are kept, for a bounded time and in bounded number, the oldest going first. What a
// request was about is kept as fingerprints: no key stays readable.

import { SluiceError, show } from "../../errors.js";
import type { Outcome } from "../store.js";

/** One charge of a request, as it is compared and answered again. */
export interface RequestPrint {
  readonly low: number;
  readonly high: number;
  readonly cost: number;
}

interface Admission {
  readonly prints: readonly RequestPrint[];
  readonly outcome: Outcome;
  readonly expiresAtMs: number;
}

export class Requests {
  readonly #requestsMax: number;
  readonly #keepMs: number;
  // A Map iterates in the order of insertion: its first entry is the oldest.
  readonly #admissions = new Map<string, Admission>();

  constructor(options: { requestsMax: number; idempotencyMs: number }) {
    this.#requestsMax = options.requestsMax;
    this.#keepMs = options.idempotencyMs;
  }

  /** The outcome of the same request before, if it was admitted and is still remembered. */
  recall(requestId: string, prints: readonly RequestPrint[], nowMs: number): Outcome | undefined {
    const admission = this.#admissions.get(requestId);
    if (admission === undefined || admission.expiresAtMs <= nowMs) return undefined;
    if (!isSame(admission.prints, prints)) {
      throw new SluiceError("SLUICE_REQUEST_ID_REUSED", `got ${show(requestId)}`);
    }
    return admission.outcome;
  }

  record(
    requestId: string,
    prints: readonly RequestPrint[],
    outcome: Outcome,
    nowMs: number,
  ): void {
    this.#admissions.delete(requestId);
    if (this.#admissions.size >= this.#requestsMax) {
      for (const oldest of this.#admissions.keys()) {
        this.#admissions.delete(oldest);
        break;
      }
    }
    this.#admissions.set(requestId, { prints, outcome, expiresAtMs: nowMs + this.#keepMs });
  }
}

function isSame(before: readonly RequestPrint[], now: readonly RequestPrint[]): boolean {
  if (before.length !== now.length) return false;
  return before.every(
    (print, i) =>
      print.low === now[i].low && print.high === now[i].high && print.cost === now[i].cost,
  );
}
