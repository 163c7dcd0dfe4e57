// Watches a few figures of this process, each against its own baseline: the share of requests that are refused, how many
// addresses the busiest network has, and for each rule with `when` how many responses it counts (failed logins), of all
// keys and of the busiest one. Periods are closed by the first decision after them, without a timer.

import { Baseline } from "./baseline.js";
import { hashText } from "./distinct-keys.js";
import { HeavyKeys } from "./heavy-keys.js";
import { NetworkKeys } from "./network-keys.js";
import type { OutcomeCounts } from "./outcome-counts.js";
import { sizeOf, subtractOutcomes } from "./outcome-counts.js";

/** What is watched: refusals of all requests, addresses in a network, counted responses, and those of one key. */
export const WATCHED_FIGURES = [
  "refusal-share",
  "network-addresses",
  "counted-responses",
  "counted-responses-per-key",
] as const;

/** One of them. */
export type WatchedFigure = (typeof WATCHED_FIGURES)[number];

/** A figure that departs from its baseline, or did. */
export interface Anomaly {
  readonly figure: WatchedFigure;
  /** The rule that it is about; null for all requests. */
  readonly rule: string | null;
  /** Its value in the last period: a share from 0 to 1, or a count for ten seconds. */
  readonly value: number;
  /** What is usual, and how far values usually are from it. */
  readonly mean: number;
  readonly distance: number;
}

/** The time during which a figure departs from its baseline. */
export interface Departure extends Anomaly {
  /** When it was noticed, and when it was over, by a monotonic reading; null while it lasts. */
  readonly beganMs: number;
  readonly endedMs: number | null;
}

/** How long a period is. */
export const ANOMALY_PERIOD_MS = 10_000;
/** Fewer decisions in a period say nothing about their share. */
const DECISIONS_MIN = 100;
/** Rules whose counted responses are watched; those of further rules are not. */
const RULES_MAX = 100;
const HEAVY_KEYS_MAX = 32;
/** The smallest rise above its mean that a person would want to look at. */
const DISTANCES: Readonly<Record<WatchedFigure, number>> = {
  "refusal-share": 0.1,
  "network-addresses": 50,
  "counted-responses": 20,
  "counted-responses-per-key": 10,
};

/** What a watch is made with. */
export interface AnomalyWatchOptions {
  /** The totals since the start. */
  readonly readTotals: () => OutcomeCounts;
  readonly seed: number;
  /** Numbers from 0 to below 1. */
  readonly chance: () => number;
  readonly onChanged: (change: "began" | "ended", anomaly: Anomaly) => void;
}

interface WatchedRule {
  counted: number;
  keys: HeavyKeys;
  readonly all: Baseline;
  readonly perKey: Baseline;
}

/** Watches figures. */
export class AnomalyWatch {
  readonly #options: AnomalyWatchOptions;
  readonly #networks: NetworkKeys;
  readonly #refusalShare = new Baseline({ distanceMin: DISTANCES["refusal-share"] });
  readonly #networkAddresses = new Baseline({ distanceMin: DISTANCES["network-addresses"] });
  readonly #rules = new Map<string, WatchedRule>();
  /** The latest departure of each figure and rule, the one that began last at the end: its highest value counts. */
  readonly #departures = new Map<string, Departure>();
  /** How often a figure began to depart, by figure and rule. */
  readonly counts = new Map<string, { figure: WatchedFigure; rule: string; value: number }>();
  #before: OutcomeCounts;
  #nowMs = 0;
  #endMs = Number.NEGATIVE_INFINITY;

  constructor(options: AnomalyWatchOptions) {
    this.#options = options;
    this.#networks = new NetworkKeys(options.seed);
    this.#before = options.readTotals();
  }

  /** The figures that depart from their baselines now. */
  get active(): readonly Anomaly[] {
    return [...this.#departures.values()].filter(({ endedMs }) => endedMs === null);
  }

  /** The latest departure of each figure and rule that had one, the newest first. */
  get latest(): readonly Departure[] {
    return [...this.#departures.values()].reverse();
  }

  /** A decision is about to be counted, at a monotonic reading. */
  begin(nowMs: number): void {
    if (nowMs >= this.#endMs) this.#close(nowMs);
  }

  /** Sees the key of a rule that counts by address. */
  seeAddress(key: string, hash: number): void {
    this.#networks.see(key, hash);
  }

  /** A response counted under a rule with `when`. */
  seeCounted(rule: string, key: string): void {
    const watched = this.#ruleOf(rule);
    if (watched === undefined) return;
    watched.counted++;
    watched.keys.hit(key, hashText(key, this.#options.seed));
  }

  /** Forgets rules that are gone. */
  remove(ruleIds: Iterable<string>): void {
    for (const rule of ruleIds) {
      this.#rules.delete(rule);
      for (const figure of ["counted-responses", "counted-responses-per-key"])
        for (const map of [this.#departures, this.counts]) map.delete(`${figure}\n${rule}`);
    }
  }

  #close(nowMs: number): void {
    const isLate = nowMs >= this.#endMs + ANOMALY_PERIOD_MS;
    this.#nowMs = nowMs;
    this.#endMs = nowMs + ANOMALY_PERIOD_MS;
    const totals = this.#options.readTotals();
    const counts = subtractOutcomes(totals, this.#before);
    this.#before = totals;
    const addresses = this.#networks.take();
    // A period that was not closed in time is of another length, and says nothing about ten seconds.
    if (!isLate) {
      const decided = sizeOf(counts);
      if (decided >= DECISIONS_MIN) {
        this.#judge("refusal-share", null, this.#refusalShare, counts.blocked / decided);
        this.#judge("network-addresses", null, this.#networkAddresses, addresses);
      }
      for (const [rule, watched] of this.#rules) this.#judgeRule(rule, watched);
    }
    for (const watched of this.#rules.values()) {
      watched.counted = 0;
      watched.keys = this.#newKeys();
    }
  }

  #judgeRule(rule: string, { counted, keys, all, perKey }: WatchedRule): void {
    let most = 0;
    for (const { hits } of keys) most = Math.max(most, hits);
    this.#judge("counted-responses", rule, all, counted);
    this.#judge("counted-responses-per-key", rule, perKey, most);
  }

  #judge(figure: WatchedFigure, rule: string | null, baseline: Baseline, value: number): void {
    const { mean, distance } = baseline;
    const change = baseline.take(value);
    const name = `${figure}\n${rule ?? ""}`;
    const anomaly = { figure, rule, value, mean, distance };
    if (change === "began") this.#depart(name, anomaly);
    else this.#goOn(name, value, change === "ended");
    if (change !== undefined) this.#options.onChanged(change, anomaly);
  }

  #depart(name: string, anomaly: Anomaly): void {
    const { figure, rule } = anomaly;
    const count = this.counts.get(name) ?? { figure, rule: rule ?? "", value: 0 };
    count.value++;
    this.counts.set(name, count);
    this.#departures.delete(name);
    this.#departures.set(name, { ...anomaly, beganMs: this.#nowMs, endedMs: null });
  }

  #goOn(name: string, value: number, isOver: boolean): void {
    const known = this.#departures.get(name);
    if (known === undefined || known.endedMs !== null) return;
    const endedMs = isOver ? this.#nowMs : null;
    this.#departures.set(name, { ...known, value: Math.max(known.value, value), endedMs });
  }

  #ruleOf(rule: string): WatchedRule | undefined {
    const known = this.#rules.get(rule);
    if (known !== undefined || this.#rules.size >= RULES_MAX) return known;
    const watched = {
      counted: 0,
      keys: this.#newKeys(),
      all: new Baseline({ distanceMin: DISTANCES["counted-responses"] }),
      perKey: new Baseline({ distanceMin: DISTANCES["counted-responses-per-key"] }),
    };
    this.#rules.set(rule, watched);
    return watched;
  }

  #newKeys(): HeavyKeys {
    const { chance } = this.#options;
    return new HeavyKeys({ keysMax: HEAVY_KEYS_MAX, chance, hotHits: Number.POSITIVE_INFINITY });
  }
}
