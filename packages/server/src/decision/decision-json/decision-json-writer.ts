// Writes decisions as JSON. Most decisions differ from the one before only in what remains, if at all, and the parts
// that they share are not joined again (bench service/batch).

import type { Decision } from "sluice";
import type { RefusalReason } from "sluice/rules";

/** Writes decisions, and remembers the last one. */
export class DecisionJsonWriter {
  // The values of the decision before.
  #allowed: boolean | undefined = undefined;
  #limit = 0;
  #remaining = 0;
  #retryAfterMs = 0;
  #resetMs = 0;
  #delayMs: number | undefined = undefined;
  #source = "";
  #rule: string | undefined = undefined;
  #reason: RefusalReason | undefined = undefined;
  // Its first part, its last part, and all of it.
  #start = "";
  #end = "";
  #text = "";

  /** A decision, with the rule that bound and the reason of a refusal, if it has them. */
  of(decision: Decision, rule?: string, reason?: RefusalReason): string {
    const { remaining, retryAfterMs, resetMs } = decision;
    const hasSameParts = this.#keepParts(decision, rule, reason);
    const isSameWait = retryAfterMs === this.#retryAfterMs && resetMs === this.#resetMs;
    if (hasSameParts && isSameWait && remaining === this.#remaining) return this.#text;
    this.#remaining = remaining;
    this.#retryAfterMs = retryAfterMs;
    this.#resetMs = resetMs;
    this.#text = `${this.#start}${orNull(remaining)}${waitsOf(decision)}${this.#end}`;
    return this.#text;
  }

  /** Updates the first and the last part; returns whether they were up to date. */
  #keepParts(decision: Decision, rule?: string, reason?: RefusalReason): boolean {
    const { allowed, limit, delayMs, source } = decision;
    const isSameStart = allowed === this.#allowed && limit === this.#limit;
    if (!isSameStart) {
      this.#allowed = allowed;
      this.#limit = limit;
      this.#start = `{${startOf(decision)}`;
    }
    const isSameRule = rule === this.#rule && reason === this.#reason;
    if (isSameRule && delayMs === this.#delayMs && source === this.#source) return isSameStart;
    this.#delayMs = delayMs;
    this.#source = source;
    this.#rule = rule;
    this.#reason = reason;
    this.#end = `${endOf(decision)}${bindingOf(rule, reason)}}`;
    return false;
  }
}

/** The fields of the numbers, without braces. */
export function numberFieldsOf(decision: Decision): string {
  return `${startOf(decision)}${orNull(decision.remaining)}${waitsOf(decision)}${endOf(decision)}`;
}

/** The fields of the rule that bound, and of why the request was refused. */
export function bindingOf(rule: string | undefined, reason: RefusalReason | undefined): string {
  const named = rule === undefined ? "" : `,"rule":"${rule}"`;
  return reason === undefined ? named : `${named},"reason":"${reason}"`;
}

function startOf({ allowed, limit }: Decision): string {
  return `"allowed":${allowed},"limit":${orNull(limit)},"remaining":`;
}

function waitsOf({ retryAfterMs, resetMs }: Decision): string {
  if (retryAfterMs === 0) return `,"retryAfterMs":0,"resetMs":${orNull(resetMs)}`;
  return `,"retryAfterMs":${orNull(retryAfterMs)},"resetMs":${orNull(resetMs)}`;
}

function endOf({ delayMs, source }: Decision): string {
  return `,"delayMs":${delayMs},"source":"${source}"`;
}

/** JSON has no Infinity: a time that never comes is null. */
function orNull(number: number): number | null {
  return number === Number.POSITIVE_INFINITY ? null : number;
}
