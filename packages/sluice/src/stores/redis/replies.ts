// Reads what the scripts answer: a flat list of numbers, walked from front to back.

import type { Verdict } from "../../decision.js";
import type { Limit } from "../../limits.js";
import type { Charge, ChargeReceipt, Outcome, Standing } from "../store.js";

/** What a receipt has to present. */
export interface RedisProof {
  /** Under which it is known beside its counter; "" if it was only held briefly. */
  readonly name: string;
  readonly atMs: number;
  readonly mark: number;
  readonly before: number;
  /** How long it is known. */
  readonly keepMs: number;
  /** The record of the request that made it, or "". */
  readonly record: string;
}

/** What is told of receipts besides the reply itself. */
export interface HeldAs {
  readonly keepMs: number;
  readonly record: string;
}

export class ReplyReader {
  readonly nowMs: number;
  readonly #reply: readonly (number | string)[];
  #at = 1;

  constructor(reply: unknown) {
    this.#reply = reply as readonly (number | string)[];
    this.nowMs = this.#number(0);
  }

  /** The next verdict, on a charge under this limit. */
  verdict(limit: Limit): Verdict {
    const at = this.#at;
    this.#at = at + 5;
    const delay = this.#number(at + 4);
    return {
      allowed: this.#number(at) === 1,
      limit: limit.limit,
      remaining: this.#number(at + 1),
      retryAfterMs: toMs(this.#number(at + 2)),
      resetMs: toMs(this.#number(at + 3)),
      delayMs: delay > 0 && "ticksPerMs" in limit ? delay / limit.ticksPerMs : 0,
      source: "store",
    };
  }

  /** The next verdict with what is in use. */
  standing(limit: Limit): Standing {
    const verdict = this.verdict(limit);
    const inUse = this.#number(this.#at++);
    const used = "fullTicks" in limit ? (inUse / limit.fullTicks) * limit.limit : inUse;
    return { ...verdict, used };
  }

  /** The next outcome; undefined if the id of its request was used for another one. */
  outcome(charges: readonly Charge[], held: HeldAs | undefined): Outcome | undefined {
    const status = this.#number(this.#at++);
    if (status < 0) return undefined;
    const isAdmitted = status === 1;
    const name = String(this.#reply[this.#at++]);
    const verdicts: Verdict[] = [];
    const receipts: ChargeReceipt[] = [];
    for (const { counter, key, cost } of charges) {
      const verdict = this.verdict(counter.limit);
      verdicts.push(verdict);
      const mark = this.#number(this.#at++);
      const before = this.#number(this.#at++);
      if (held === undefined || !isAdmitted || !verdict.allowed) continue;
      const proof: RedisProof = { name, atMs: this.nowMs, mark, before, ...held };
      receipts.push({ counter, key, cost, proof });
    }
    return { isAdmitted, verdicts, receipts };
  }

  /** The verdict of the next outcome, which has one charge. */
  only(limit: Limit): Verdict {
    this.#at += 2;
    const verdict = this.verdict(limit);
    this.#at += 2;
    return verdict;
  }

  #number(at: number): number {
    return Number(this.#reply[at]);
  }
}

function toMs(ms: number): number {
  return ms < 0 ? Number.POSITIVE_INFINITY : ms;
}
