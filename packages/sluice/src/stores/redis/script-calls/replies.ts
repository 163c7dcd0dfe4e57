// Parses the replies of the scripts: flat lists of numbers, read from front to back.

import type { Verdict } from "../../../base/decision.js";
import { SluiceError, show } from "../../../base/errors.js";
import { isShaper, type Limit } from "../../../limits/limits.js";
import type { Charge, CounterStatus, Outcome } from "../../store.js";

/** What a receipt that is kept beside its counter has to present. */
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

/** What a request with receipts or an id knows of them, besides the reply. */
export interface HeldAs {
  readonly isWanted: boolean;
  readonly keepMs: number;
  readonly record: string;
}

/** The answer for a window that starts with its first request is the time left × this + the count; as in whole.lua. */
const PACK_SPAN = 8192;

/** Walks a reply. */
export class ReplyReader {
  readonly nowMs: number;
  readonly #reply: readonly (number | string)[];
  #at = 1;

  constructor(reply: unknown) {
    if (!Array.isArray(reply) || typeof reply[0] !== "number") {
      throw unreadable(reply);
    }
    this.#reply = reply;
    this.nowMs = reply[0];
  }

  /** The next verdict, on a charge under this limit. */
  verdict(limit: Limit): Verdict {
    const value = this.#next();
    const retryAfterMs = toMs(this.#next());
    const resetMs = toMs(this.#next());
    const verdict: Verdict = {
      allowed: retryAfterMs === 0,
      limit: limit.capacity,
      remaining: Math.max(0, value),
      retryAfterMs,
      resetMs,
      delayMs: isShaper(limit) ? this.#next() / limit.ticksPerMs : 0,
      source: "store",
    };
    return value < 0 ? { ...verdict, blockedMs: toBlockedMs(value) } : verdict;
  }

  /** The next verdict of check.lua: one number if the charge was decided in one step, and so is admitted. */
  #checkVerdict(limit: Limit): Verdict {
    const answer = this.#next();
    return answer < 0 ? this.verdict(limit) : this.#quickVerdict(limit, answer);
  }

  /** What quick.lua says about an admitted charge. */
  #quickVerdict(limit: Limit, answer: number): Verdict {
    let remaining = answer;
    let resetMs = answer;
    switch (limit.algorithm) {
      case "tokenBucket":
        remaining = Math.floor((limit.fullTicks - answer) / limit.ticksPerUnit);
        break;
      case "fixedWindow": {
        const isFirst = limit.align === "first";
        remaining = limit.capacity - (isFirst ? answer % PACK_SPAN : answer);
        resetMs = isFirst ? Math.floor(answer / PACK_SPAN) : this.#leftOf(limit.windowMs);
        break;
      }
      case "slidingWindowCounter":
        resetMs = this.#leftOf(limit.windowMs) + limit.windowMs;
        break;
      default:
        throw unreadable(this.#reply);
    }
    return {
      allowed: true,
      limit: limit.capacity,
      remaining,
      retryAfterMs: 0,
      resetMs,
      delayMs: 0,
      source: "store",
    };
  }

  /** How much is left of the current window. */
  #leftOf(windowMs: number): number {
    return windowMs - (this.nowMs % windowMs);
  }

  /** The next verdict with what is in use. */
  status(limit: Limit): CounterStatus {
    const verdict = this.verdict(limit);
    const inUse = this.#next();
    const used = "fullTicks" in limit ? (inUse / limit.fullTicks) * limit.capacity : inUse;
    return { ...verdict, used };
  }

  /** The next outcome of check.lua. */
  checkOutcome(charges: readonly Charge[]): Outcome {
    const verdicts = new Array<Verdict>(charges.length);
    let allowed = true;
    for (let i = 0; i < charges.length; i++) {
      verdicts[i] = this.#checkVerdict(charges[i].counter.limit);
      allowed &&= verdicts[i].allowed;
    }
    this.mustReach();
    return { allowed, verdicts, receipts: [] };
  }

  /** The next outcome of decide.lua, of a request that has neither receipts nor an id. */
  outcome(charges: readonly Charge[]): Outcome {
    const verdicts = charges.map(({ counter }) => this.verdict(counter.limit));
    this.mustReach();
    const allowed = verdicts.every(({ allowed }, i) => allowed || charges[i].shadow === true);
    return { allowed, verdicts, receipts: [] };
  }

  /** The next outcome, of one that has; undefined if its id was used for another request. */
  heldOutcome(charges: readonly Charge[], held: HeldAs): Outcome | undefined {
    const status = this.#next();
    if (status < 0) return undefined;
    const allowed = status === 1;
    const decided = charges.map((charge) => {
      const verdict = this.verdict(charge.counter.limit);
      return { charge, verdict, mark: this.#next(), before: this.#next() };
    });
    const name = String(this.#reply[this.#at++]);
    // Of a request that is answered again: when it was admitted.
    const atMs = this.#next();
    this.mustReach();
    const { isWanted, keepMs, record } = held;
    if (!isWanted || !allowed) {
      return { allowed, verdicts: decided.map(({ verdict }) => verdict), receipts: [] };
    }
    const receipts = decided
      .filter(({ verdict, charge }) => verdict.allowed && charge.isFinal !== true)
      .map(({ charge: { counter, key, cost }, mark, before }) => {
        const proof: RedisProof = { name, atMs, mark, before, keepMs, record };
        return { counter, key, cost, proof };
      });
    return { allowed, verdicts: decided.map(({ verdict }) => verdict), receipts };
  }

  /**
   * Checks that the reply was long enough for all that was read from it. Once for each request: a check of every number
   * would be paid by every decision.
   *
   * @throws SluiceError `SLUICE_STORE_UNAVAILABLE` if it was shorter.
   */
  mustReach(): void {
    if (this.#at > this.#reply.length) throw unreadable(this.#reply);
  }

  #next(): number {
    return this.#reply[this.#at++] as number;
  }
}

function unreadable(reply: unknown): SluiceError {
  return new SluiceError(
    "SLUICE_STORE_UNAVAILABLE",
    `unexpected reply of a script: ${show(reply)}`,
  );
}

/** Below zero: -1 is forever, -1 - n are n milliseconds. */
function toBlockedMs(value: number): number {
  return value === -1 ? Number.POSITIVE_INFINITY : -1 - value;
}

function toMs(ms: number): number {
  return ms < 0 ? Number.POSITIVE_INFINITY : ms;
}
