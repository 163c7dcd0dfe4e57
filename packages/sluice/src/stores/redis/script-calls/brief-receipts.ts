// Receipts for a moment. What a verdict says of an admission is enough to derive what was charged: so
// a request whose charges may have to be refunded immediately costs the server nothing more than one
// that is final. If it can't be derived exactly, it is rounded so that less is refunded, never more.

import type { Verdict } from "../../../base/decision.js";
import type { BucketLimit } from "../../../limits/limits.js";
import type { Charge, ChargeReceipt } from "../../store.js";
import type { RedisProof } from "./replies.js";

/** An admission from which a proof can be derived. */
export class BriefProof {
  readonly verdict: Verdict;
  readonly nowMs: number;

  constructor(verdict: Verdict, nowMs: number) {
    this.verdict = verdict;
    this.nowMs = nowMs;
  }
}

/** How long it is known that a brief receipt was settled: it is sent again within seconds or never. */
export const NOTE_MS = 60_000;

// By the receipt, so that it has the same name however often it is sent.
const noteIds = new WeakMap<object, string>();

/**
 * Under what it is noted that this receipt, held briefly, was settled. Of a request with an id all
 * answers are the same receipt, known by its record.
 */
export function noteIdOf(proof: object, { record, atMs }: RedisProof): string {
  if (record !== "") return `${atMs}${record.slice(record.indexOf("}") + 1)}`;
  const known = noteIds.get(proof);
  if (known !== undefined) return known;
  const id = crypto.randomUUID();
  noteIds.set(proof, id);
  return id;
}

/** The receipt of a charge that was admitted at `nowMs` of the server's time. */
export function briefReceipt(
  { counter, key, cost }: Charge,
  verdict: Verdict,
  nowMs: number,
): ChargeReceipt {
  return { counter, key, cost, proof: new BriefProof(verdict, nowMs) };
}

/** What settle.lua has to know about a receipt, brief or kept. */
export function toProof({ counter, cost, proof }: ChargeReceipt): RedisProof {
  if (!(proof instanceof BriefProof)) return proof as RedisProof;
  const { verdict, nowMs } = proof;
  const { limit } = counter;
  const common = { name: "", atMs: nowMs, keepMs: NOTE_MS, record: "" };
  switch (limit.algorithm) {
    case "tokenBucket":
    case "leakyBucket":
      return { ...common, mark: 0, before: debtBefore(limit, cost, verdict.resetMs) };
    case "slidingWindowCounter":
      // The current count is back one window after this one ends. What it was before does not matter.
      return { ...common, mark: nowMs + verdict.resetMs - limit.windowMs, before: 0 };
    default:
      return { ...common, mark: nowMs + verdict.resetMs, before: 0 };
  }
}

/** The least debt before the charge from which the bucket is full again in `resetMs`. */
function debtBefore(limit: BucketLimit, cost: number, resetMs: number): number {
  const { ticksPerMs, ticksPerUnit } = limit;
  const after = (resetMs - 1) * ticksPerMs + 1;
  return Math.max(0, after - cost * ticksPerUnit);
}
