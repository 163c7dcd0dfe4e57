// Requests that repeat: where rules count by address alone, what a method and path are charged is found once, and so is
// the key of a caller. Such a request makes no objects (bench replay/speed). The policy decides all others.

import { canPlan, type RequestPlan } from "sluice/internals";
import type { RuleSet } from "sluice/rules";
import type { LineList, LogEntry } from "../../access-logs/log-entry.js";
import { type Replay, type Replayed, toReplayed } from "../replay/replay.js";
import type { LogTally, SideTally } from "./log-tally.js";
import { PrintedCallers } from "./printed-callers.js";

/** Rules, and what decides by them. */
export interface PlannedSide {
  readonly replay: Replay;
  readonly rules: RuleSet;
}

/** What requests under the same rules are charged. All methods and paths that match them share one. */
interface SharedPlan {
  readonly after: RequestPlan;
  readonly before: RequestPlan | undefined;
  requests: number;
}

/** Sets of rules that match together; requests under more of them are not planned. */
const PLANS_MAX = 1_024;
const ALLOWED: Replayed = { allowed: true, rule: undefined, key: undefined };

/** Decides requests by plans, over stores with the same seed. Plans are kept with the lines that they are for. */
export class PlannedRequests {
  readonly #after: PlannedSide;
  readonly #before: PlannedSide | undefined;
  /** By the ids of their rules. */
  readonly #plans = new Map<string, SharedPlan>();
  readonly #callers: PrintedCallers;

  /** Undefined if no request can be planned. */
  static of(after: PlannedSide, before: PlannedSide | undefined): PlannedRequests | undefined {
    if (!canPlan(after.rules) || (before !== undefined && !canPlan(before.rules))) return undefined;
    const isSamePrefix = (before ?? after).rules.ipv6Prefix === after.rules.ipv6Prefix;
    return isSamePrefix ? new PlannedRequests(after, before) : undefined;
  }

  private constructor(after: PlannedSide, before: PlannedSide | undefined) {
    this.#after = after;
    this.#before = before;
    this.#callers = new PrintedCallers((key) => after.replay.print(key), after.rules.ipv6Prefix);
  }

  /** Whether the new rules allow a request; undefined, and nothing done, if it can't be planned. */
  decide(entry: LogEntry, tally: LogTally): boolean | undefined {
    const { lines, lineAt, atMs } = entry;
    if (lines === undefined || isNamed(entry)) return undefined;
    const known = lines.notes[lineAt] as SharedPlan | null | undefined;
    const plan = known ?? this.#plan(lines, entry);
    if (plan === null) return undefined;
    const caller = this.#callers.of(entry);
    if (caller === undefined) return undefined;
    if (caller.isNew) tally.addCaller(caller.address ?? "");
    plan.requests++;
    tally.addRequest(atMs);
    const after = plan.after.decide(caller, atMs);
    const before = plan.before?.decide(caller, atMs);
    if (after !== undefined || before !== undefined) {
      const was = before === undefined ? ALLOWED : toReplayed(before);
      const is = after === undefined ? ALLOWED : toReplayed(after);
      tally.addRefused(caller.address ?? "", atMs, is, this.#before && was);
    }
    return after === undefined;
  }

  /** Adds what was counted by plans to the tallies of their rules. */
  end(tally: LogTally): void {
    for (const { after, before, requests } of this.#plans.values()) {
      countUnder(after, requests, tally.after);
      if (before !== undefined && tally.before !== undefined)
        countUnder(before, requests, tally.before);
    }
    this.#plans.clear();
  }

  #plan({ notes }: LineList, entry: LogEntry): SharedPlan | null {
    const { lineAt } = entry;
    if (notes[lineAt] === undefined) notes[lineAt] = this.#toPlan(entry);
    return notes[lineAt] as SharedPlan | null;
  }

  #toPlan(entry: LogEntry): SharedPlan | null {
    const after = this.#after.replay.planFor(entry.fillIn());
    const before = this.#before?.replay.planFor(entry);
    if (after === undefined || (this.#before !== undefined && before === undefined)) return null;
    const id = JSON.stringify([idsOf(after), before && idsOf(before)]);
    const known = this.#plans.get(id);
    if (known !== undefined || this.#plans.size >= PLANS_MAX) return known ?? null;
    const plan = { after, before, requests: 0 };
    this.#plans.set(id, plan);
    return plan;
  }
}

function idsOf({ rules }: RequestPlan): string[] {
  return rules.map(({ id }) => id);
}

function countUnder({ rules }: RequestPlan, requests: number, side: SideTally): void {
  for (const { id } of rules) side.at(id).matched += requests;
}

/** Callers that have a name may match other rules, and be counted by it. */
function isNamed({ user, apiKey, tenant }: LogEntry): boolean {
  return user !== undefined || apiKey !== undefined || tenant !== undefined;
}
