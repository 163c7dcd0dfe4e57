// What this process admitted of durable quotas since its last report, by account. Every decision of a durable rule is
// counted here, so a period is computed once, and finding an account takes one look-up.

import { type AdmissionMeter, type AdmissionSource, type Counter, quotaPeriod } from "sluice";
import { type AccountName, accountIdOf, toSubject } from "../accounts/account-id.js";

/** Accounts that are kept apart between two reports; what others admit is counted by meter and period. */
export const ACCOUNTS_MAX = 50_000;
/** So close to the end of a period, a charge that was admitted in it may be written to the next. */
export const EDGE_MS = 60_000;

/** What was admitted of one account. `edge` is what was admitted close to the start or the end of the period. */
export interface AdmittedUnits {
  readonly accountId: string;
  readonly name: AccountName;
  readonly endsAtMs: number;
  readonly source: AdmissionSource | "edge";
  readonly units: number;
}

/** The units of one counter in a span of a period. */
interface Span {
  readonly fromMs: number;
  readonly toMs: number;
  readonly isEdge: boolean;
  readonly period: { readonly startMs: number; readonly endMs: number };
  readonly units: Record<AdmissionSource, Map<string, number>>;
}

/** Counts what is admitted until it is taken. */
export class AdmissionCounts implements AdmissionMeter {
  #spans = new Map<Counter, Span>();
  #all: [Counter, Span][] = [];
  #accounts = 0;

  get isEmpty(): boolean {
    return this.#all.length === 0;
  }

  count(
    source: AdmissionSource,
    counter: Counter,
    key: string,
    units: number,
    nowMs: number,
  ): void {
    let span = this.#spans.get(counter);
    if (span === undefined || nowMs < span.fromMs || nowMs >= span.toMs) {
      span = this.#spanOf(counter, nowMs);
      if (span === undefined) return;
    }
    const byKey = span.units[source];
    const before = byKey.get(key);
    if (before !== undefined) byKey.set(key, before + units);
    else this.#add(byKey, key, units);
  }

  /** What was counted since the last call. */
  take(): AdmittedUnits[] {
    const taken = this.#all.flatMap(([counter, span]) => unitsOf(counter, span));
    this.#spans = new Map();
    this.#all = [];
    this.#accounts = 0;
    return taken;
  }

  #add(byKey: Map<string, number>, key: string, units: number): void {
    if (this.#accounts >= ACCOUNTS_MAX) {
      byKey.set("", (byKey.get("") ?? 0) + units);
      return;
    }
    this.#accounts++;
    byKey.set(key, units);
  }

  #spanOf(counter: Counter, nowMs: number): Span | undefined {
    const known = this.#all.find(
      ([other, { fromMs, toMs }]) => other === counter && fromMs <= nowMs && nowMs < toMs,
    )?.[1];
    const span = known ?? toSpan(counter, nowMs);
    if (span === undefined) return undefined;
    if (known === undefined) this.#all.push([counter, span]);
    this.#spans.set(counter, span);
    return span;
  }
}

function toSpan({ limit }: Counter, nowMs: number): Span | undefined {
  if (limit.algorithm !== "quota") return undefined;
  const period = quotaPeriod(limit, nowMs);
  const innerMs = { fromMs: period.startMs + EDGE_MS, toMs: period.endMs - EDGE_MS };
  const units = { charged: new Map(), repeated: new Map(), uncharged: new Map() };
  const isEdge = nowMs < innerMs.fromMs || nowMs >= innerMs.toMs;
  if (!isEdge) return { ...innerMs, isEdge, period, units };
  const toMs = nowMs < innerMs.fromMs ? Math.min(innerMs.fromMs, period.endMs) : period.endMs;
  const fromMs = nowMs < innerMs.fromMs ? period.startMs : Math.max(innerMs.toMs, period.startMs);
  return { fromMs, toMs, isEdge, period, units };
}

function unitsOf(
  { scope: meter, part }: Counter,
  { isEdge, period, units }: Span,
): AdmittedUnits[] {
  const { startMs: startsAtMs, endMs: endsAtMs } = period;
  return (Object.keys(units) as AdmissionSource[]).flatMap((source) =>
    [...units[source]].map(([key, admitted]) => {
      const name = { meter, part, subject: toSubject(key), startsAtMs };
      const reported = isEdge && source === "charged" ? ("edge" as const) : source;
      return { accountId: accountIdOf(name), name, endsAtMs, source: reported, units: admitted };
    }),
  );
}
