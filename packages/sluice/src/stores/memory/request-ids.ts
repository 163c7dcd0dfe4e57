// Requests admitted lately, by their requestId, so that one that is sent twice counts once. Only
// admissions are kept, for a bounded time and in bounded number, the oldest going first. What a
// request was about is kept as fingerprints: no key stays readable.

import { BoundedMap } from "../../base/bounded-map.js";
import { SluiceError, show } from "../../base/errors.js";
import type { Charge, ChargeReceipt, Outcome } from "../store.js";
import type { Located } from "./located.js";

/** One charge of a request, as it is compared. */
export interface RequestPrint {
  readonly scope: string;
  readonly low: number;
  readonly high: number;
  readonly cost: number;
}

/** A request that names itself. */
export interface NamedRequest {
  readonly requestId: string;
  readonly prints: readonly RequestPrint[];
  /** Whether it asked for receipts: an answer without them can't stand for one with. */
  readonly isHeld: boolean;
  readonly nowMs: number;
}

interface Admission {
  readonly request: NamedRequest;
  readonly outcome: Outcome;
  readonly expiresAtMs: number;
}

export class Requests {
  readonly #keepMs: number;
  readonly #admissions: BoundedMap<string, Admission>;

  constructor(options: { requestsMax: number; idempotencyMs: number }) {
    this.#keepMs = options.idempotencyMs;
    this.#admissions = new BoundedMap(options.requestsMax);
  }

  /** The outcome of the same request before, if it was admitted and is still remembered. */
  recall(request: NamedRequest): Outcome | undefined {
    const admission = this.#admissions.get(toName(request));
    if (admission === undefined || admission.expiresAtMs <= request.nowMs) return undefined;
    const { prints, isHeld } = admission.request;
    if (isHeld !== request.isHeld || !isSame(prints, request.prints)) {
      throw new SluiceError("SLUICE_REQUEST_ID_REUSED", `got ${show(request.requestId)}`);
    }
    return admission.outcome;
  }

  /** Remembers an admission, and returns the name under which it can be forgotten. */
  record(request: NamedRequest, outcome: Outcome): string {
    const { nowMs } = request;
    const name = toName(request);
    this.#admissions.set(name, { request, outcome, expiresAtMs: nowMs + this.#keepMs });
    return name;
  }

  forget(name: string | undefined): void {
    if (name !== undefined) this.#admissions.delete(name);
  }
}

/** Ids of different limiters don't meet. */
function toName({ requestId, prints }: NamedRequest): string {
  return JSON.stringify([requestId, ...new Set(prints.map((print) => print.scope))]);
}

function isSame(before: readonly RequestPrint[], now: readonly RequestPrint[]): boolean {
  if (before.length !== now.length) return false;
  return before.every(
    (print, i) =>
      print.low === now[i].low && print.high === now[i].high && print.cost === now[i].cost,
  );
}

/** A charge as it is compared. */
export function toPrint(at: Located): RequestPrint {
  const { counter, cost } = at.charge;
  return { scope: counter.scope, low: at.low, high: at.high, cost };
}

/** An outcome to remember, with the place of its charge instead of each receipt's key. */
export function withoutKeys(outcome: Outcome, charges: readonly Charge[]): Outcome {
  const placeOf = ({ counter, key }: ChargeReceipt) =>
    charges.findIndex((charge) => charge.counter === counter && charge.key === key);
  const receipts = outcome.receipts.map((receipt) => ({ ...receipt, key: `${placeOf(receipt)}` }));
  return { ...outcome, receipts };
}

/** The same outcome for the same charges, sent again. */
export function withKeys(outcome: Outcome, charges: readonly Charge[]): Outcome {
  const receipts = outcome.receipts.map((receipt) => {
    const { counter, key } = charges[Number(receipt.key)];
    return { ...receipt, counter, key };
  });
  return { ...outcome, receipts, isRepeated: true };
}
