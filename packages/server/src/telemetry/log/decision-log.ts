// The decision log: a line for a share of all decisions and for every refusal, up to a maximum in each second.
// It shows what a rule counts by and never identifies the caller: keys are hashed, and paths appear as the
// rule's pattern.

import type { Logger } from "pino";
import {
  type CallerEscalated,
  type DecidedCharge,
  describeKey,
  type PolicyDecision,
  type RefusalReason,
  type Rule,
} from "sluice/rules";
import {
  type CountedVerdict,
  INLINE_KEY_TYPE,
  INLINE_RULE,
  type LimitVerdict,
  type ListenerName,
} from "../reported.js";
import { toEndpoint } from "../tally/rule-meters.js";
import type { HashKey } from "./key-hash.js";

/** This many lines about decisions are written in one second; what comes beyond is counted. */
export const DECISION_LINES_PER_SECOND_MAX = 100;

/** Why a request was refused, in the words of the response's body. */
export const REASON_CODES: Readonly<Record<RefusalReason, string>> = {
  limit: "RATE_LIMIT_EXCEEDED",
  blocked: "RATE_LIMIT_EXCEEDED",
  identity: "IDENTITY_MISSING",
  store: "RATE_LIMIT_UNAVAILABLE",
  denied: "REQUESTS_DENIED",
  "unknown-api-key": "API_KEY_UNKNOWN",
  "unchecked-api-key": "API_KEY_UNCHECKED",
};

/** What a decision log is made with. */
export interface DecisionLogOptions {
  readonly log: Logger;
  /** The share of admitted requests that are logged, 0 to 1. 0: nothing is logged, refusals neither. */
  readonly share: number;
  readonly chance: () => number;
  readonly hashKey: HashKey;
  /** A monotonic reading, in milliseconds. */
  readonly readMs: () => number;
}

/** Writes lines about decisions. */
export class DecisionLog {
  readonly #options: DecisionLogOptions;
  #second = Number.NEGATIVE_INFINITY;
  #lines = 0;
  #leftOut = 0;
  #leftOutTotal = 0;

  constructor(options: DecisionLogOptions) {
    this.#options = options;
  }

  /** Lines that were not written since there were too many. */
  get leftOut(): number {
    return this.#leftOutTotal;
  }

  /** Logs a decision, if its turn comes. */
  log(listener: ListenerName, decision: PolicyDecision): void {
    if (!this.#isWanted(decision.allowed)) return;
    this.#options.log.info(this.#toLine(listener, decision), "decision");
  }

  /** Logs a decision that no policy made, by the limit that bound. */
  logLimits(
    listener: ListenerName,
    isAllowed: boolean,
    limitVerdicts: readonly LimitVerdict[],
  ): void {
    if (!this.#isWanted(isAllowed)) return;
    const bound = limitVerdicts.find(({ verdict }) => !verdict.allowed) ?? limitVerdicts[0];
    this.#write(listener, isAllowed, bound);
  }

  /** Logs a decision by a limit that came with its request. */
  logInline(listener: ListenerName, key: string, cost: number, verdict: CountedVerdict): void {
    if (!this.#isWanted(verdict.allowed)) return;
    const bound = { rule: INLINE_RULE, keyType: INLINE_KEY_TYPE, key, cost, verdict };
    this.#write(listener, verdict.allowed, bound);
  }

  /** Logs that a caller is blocked because it kept being refused, whatever the share. */
  logEscalation({ rule, key, level, blockMs }: CallerEscalated): void {
    const { log, hashKey } = this.#options;
    if (!log.isLevelEnabled("warn") || !this.#hasRoom()) return;
    log.warn({ rule, key: hashKey(key), level, blockMs }, "caller blocked after many refusals");
  }

  #write(
    listener: ListenerName,
    isAllowed: boolean,
    bound: Omit<LimitVerdict, "shadow"> | undefined,
  ): void {
    const line = {
      listener,
      rule: bound?.rule ?? null,
      keyType: bound?.keyType ?? null,
      key: bound === undefined ? null : this.#options.hashKey(bound.key),
      endpoint: null,
      cost: bound?.cost ?? null,
      outcome: isAllowed ? "allowed" : "blocked",
      code: isAllowed ? null : REASON_CODES.limit,
      source: bound?.verdict.source ?? "memory",
    };
    this.#options.log.info(line, "decision");
  }

  #isWanted(isAllowed: boolean): boolean {
    const { share, chance, log } = this.#options;
    if (share <= 0 || (isAllowed && share < 1 && chance() >= share)) return false;
    // Asked each time: the level may be changed while the service runs.
    return log.isLevelEnabled("info") && this.#hasRoom();
  }

  #hasRoom(): boolean {
    const second = Math.floor(this.#options.readMs() / 1_000);
    if (second !== this.#second) this.#begin(second);
    if (this.#lines < DECISION_LINES_PER_SECOND_MAX) {
      this.#lines++;
      return true;
    }
    this.#leftOut++;
    this.#leftOutTotal++;
    return false;
  }

  #begin(second: number): void {
    this.#second = second;
    this.#lines = 0;
    if (this.#leftOut === 0) return;
    const { log } = this.#options;
    log.warn({ leftOut: this.#leftOut }, "too many decisions in one second; some were not logged");
    this.#leftOut = 0;
  }

  #toLine(listener: ListenerName, decision: PolicyDecision): Record<string, unknown> {
    const bound = boundOf(decision);
    return {
      listener,
      rule: decision.rule ?? null,
      keyType: bound === undefined ? null : describeKey(bound.rule.key),
      key: bound === undefined ? null : this.#options.hashKey(bound.charge.key),
      endpoint: bound === undefined ? null : toEndpoint(bound.rule),
      cost: bound?.charge.units ?? null,
      outcome: toOutcome(decision),
      code: toCode(decision),
      source: decision.source,
      version: decision.version,
    };
  }
}

/** Listed addresses have a code of their own here. Responses don't say which list it was. */
const LISTED_CODE = "ADDRESS_LISTED";

function toCode({ reason, block }: PolicyDecision): string | null {
  if (reason === undefined) return null;
  return block?.list === undefined ? REASON_CODES[reason] : LISTED_CODE;
}

/** In one word. */
export function toOutcome(decision: PolicyDecision): "allowed" | "delayed" | "blocked" {
  if (!decision.allowed) return "blocked";
  return decision.delayMs > 0 ? "delayed" : "allowed";
}

/** The charge of the rule that bound: the first that refuses, else its first. */
export function boundOf(
  decision: PolicyDecision,
): { rule: Rule; charge: DecidedCharge } | undefined {
  const id = decision.rule;
  let bound: { rule: Rule; charge: DecidedCharge } | undefined;
  decision.eachCharge((rule, charge) => {
    if (rule.id !== id) return;
    if (bound === undefined || (bound.charge.verdict.allowed && !charge.verdict.allowed)) {
      bound = { rule, charge };
    }
  });
  return bound;
}
