// The text of a decision as JSON. Most answers differ from the one before in what is left, if at all, and what
// both have in common is not put together twice (bench service/batch).

import type { Decision } from "sluice";
import type { RefusalReason } from "sluice/rules";

/** Puts answers together. */
export class AnswerTexts {
  // What the answer before said.
  #allowed: boolean | undefined = undefined;
  #limit = 0;
  #remaining = 0;
  #retryAfterMs = 0;
  #resetMs = 0;
  #delayMs: number | undefined = undefined;
  #source = "";
  #rule: string | undefined = undefined;
  #reason: RefusalReason | undefined = undefined;
  // How it began and ended, and all of it.
  #start = "";
  #end = "";
  #text = "";
  #isFlat = false;

  /** The answer to a decision, with the rule that bound and why it was refused, if there are such. */
  of(decision: Decision, rule?: string, reason?: RefusalReason): string {
    const { remaining, retryAfterMs, resetMs } = decision;
    const hasSameParts = this.#keepParts(decision, rule, reason);
    const isSameWait = retryAfterMs === this.#retryAfterMs && resetMs === this.#resetMs;
    if (hasSameParts && isSameWait && remaining === this.#remaining) return this.#again();
    this.#remaining = remaining;
    this.#retryAfterMs = retryAfterMs;
    this.#resetMs = resetMs;
    this.#text = `${this.#start}${orNull(remaining)}${waitsOf(decision)}${this.#end}`;
    this.#isFlat = false;
    return this.#text;
  }

  /** Brings start and end up to date; returns whether they were. */
  #keepParts(decision: Decision, rule?: string, reason?: RefusalReason): boolean {
    const { allowed, limit, delayMs, source } = decision;
    const isSameStart = allowed === this.#allowed && limit === this.#limit;
    if (!isSameStart) {
      this.#allowed = allowed;
      this.#limit = limit;
      this.#start = flat(`{${startOf(decision)}`);
    }
    const isSameRule = rule === this.#rule && reason === this.#reason;
    if (isSameRule && delayMs === this.#delayMs && source === this.#source) return isSameStart;
    this.#delayMs = delayMs;
    this.#source = source;
    this.#rule = rule;
    this.#reason = reason;
    this.#end = flat(`${endOf(decision)}${bindingOf(rule, reason)}}`);
    return false;
  }

  #again(): string {
    if (!this.#isFlat) this.#text = flat(this.#text);
    this.#isFlat = true;
    return this.#text;
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

/** What never comes is null, as JSON knows no Infinity. */
function orNull(number: number): number | null {
  return number === Number.POSITIVE_INFINITY ? null : number;
}

/** As one piece: what `+` makes is put together each time that it is used. */
function flat(text: string): string {
  return [text].join("");
}
