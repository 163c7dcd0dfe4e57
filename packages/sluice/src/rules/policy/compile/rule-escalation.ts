// Which refusals of a rule with `escalate` count, and where they are counted: by rule and key, in the store of the rule's
// lane. Rules in shadow mode refuse no request, so they block no caller.

import type { Clock } from "../../../base/clock.js";
import type { Verdict } from "../../../base/decision.js";
import {
  type EscalationPlace,
  isCounted,
  RefusalCounts,
  type RefusalCountsOptions,
} from "../../../stores/escalation/refusal-counts.js";
import type { Rule } from "../../rule.js";
import type { Lane } from "./lanes.js";
import { OpenReservations } from "./rule-escalation-reservations.js";
import type { RuleLimit } from "./rule-limits.js";

/** Counts the refusals of all rules of a policy. It outlives any set of rules. */
export class RuleEscalations {
  readonly #counts: RefusalCounts;
  readonly #reservations = new OpenReservations();

  constructor(clock: Clock, reports: Omit<RefusalCountsOptions, "clock">) {
    this.#counts = new RefusalCounts({ clock, ...reports });
  }

  /** Counts the refusals of a rule; undefined if that has no effect. Its scope is the id of the rule. */
  of(
    rule: Rule,
    { store }: Lane,
    lists: readonly (readonly RuleLimit[])[],
  ): RuleEscalation | undefined {
    const { escalate, id } = rule;
    if (escalate === undefined || rule.onExceed === "shadow") return undefined;
    const scopes = lists.flat().map(({ counter }) => counter.scope);
    const blockScopes = [...new Set([id, ...scopes])];
    const place = { store, scope: id, blockScopes, terms: escalate };
    return new RuleEscalation(this.#counts, place, this.#reservations);
  }

  /** Reports no more. */
  close(): void {
    this.#counts.close();
  }
}

/** Counts the refusals of one rule. */
export class RuleEscalation {
  readonly #counts: RefusalCounts;
  readonly #place: EscalationPlace;
  readonly #reservations: OpenReservations;

  constructor(counts: RefusalCounts, place: EscalationPlace, reservations: OpenReservations) {
    this.#counts = counts;
    this.#place = place;
    this.#reservations = reservations;
  }

  /** Counts a verdict, if it is a refusal that counts. `scope` is where the request was counted. */
  note(key: string, scope: string, verdict: Verdict, nowMs: number): void {
    if (isCounted(verdict)) this.#counts.note(this.#place, key, scope, nowMs);
  }

  /** A request has reserved units until its response shows whether it counts. */
  reserve(key: string, units: number, nowMs: number): void {
    this.#reservations.add(this.#place.scope, key, units, nowMs);
  }

  /** Such a request has ended. */
  release(key: string, units: number): void {
    this.#reservations.remove(this.#place.scope, key, units);
  }

  /** Whether a request of so many units would have passed without what others under way have reserved. */
  isExcused(key: string, units: number, { remaining }: Verdict, nowMs: number): boolean {
    const reserved = this.#reservations.unitsOf(this.#place.scope, key, nowMs);
    return reserved > 0 && remaining + reserved >= units;
  }
}
