// What is known of the limits of one caller at one origin: its quotas, the routes that they apply to, and the rate that
// was learned from refusals. A route is a method and a path; which quotas apply to it is what its latest response
// reported. A route that is not known yet is paced by the quotas that all known routes share.

import { BoundedMap } from "../../base/bounded-map.js";
import type { QuotaReport } from "../headers/quota-report.js";
import type { OwnUse } from "./other-users.js";
import { bothMs, longer, NO_WAIT, Quota, type Wait } from "./quota.js";
import { SendRate } from "./send-rate.js";

/** The most quotas of one partition; the one that was reported longest ago is forgotten. */
const QUOTAS_MAX = 64;
/** The most routes of one partition whose quotas are remembered. */
export const ROUTES_MAX = 1_000;

/** The limits of one caller at one origin. */
export class Partition {
  readonly rate = new SendRate();
  readonly #quotas = new BoundedMap<string, Quota>(QUOTAS_MAX);
  readonly #routes = new BoundedMap<string, Route>(ROUTES_MAX);
  /** Refused for all routes until then. */
  pausedUntilMs = 0;

  /** How many routes have reported their quotas. */
  reportingRoutes = 0;
  /** Requests that were ever sent. */
  sent = 0;
  /** Those of them that have ended. */
  ended = 0;

  get quotas(): Iterable<readonly [string, Quota]> {
    return this.#quotas;
  }

  /** The route of this name, which is then the newest. */
  route(name: string): Route {
    const route = this.#routes.get(name) ?? new Route(this);
    const evicted = this.#routes.set(name, route);
    evicted?.forget();
    return route;
  }

  /**
   * The quota that a report is about. Without names, quotas are kept apart by their limits: GitHub's search had a limit of
   * its own before it had a name, and X counts each endpoint on its own.
   */
  quotaOf({ name, partitionKey, limit }: QuotaReport): Quota {
    const part = partitionKey ?? (name === "" ? limit : undefined);
    const key = part === undefined ? name : `${name}\n${part}`;
    const quota = this.#quotas.get(key) ?? this.#newQuota(name);
    this.#quotas.set(key, quota);
    return quota;
  }

  #newQuota(name: string): Quota {
    const quota = new Quota(name);
    // Requests that were sent before the first report are not counted for it.
    quota.rate.measureLike(this.rate);
    return quota;
  }
}

const NO_QUOTAS: readonly Quota[] = [];

/** Requests of one method and path. */
export class Route {
  readonly partition: Partition;
  /** What its latest response reported; undefined before that. */
  #quotas: readonly Quota[] | undefined;
  /** Refused until then. */
  pausedUntilMs = 0;
  #isForgotten = false;

  constructor(partition: Partition) {
    this.partition = partition;
  }

  /** The quotas that count its requests, as far as is known. */
  get quotas(): readonly Quota[] {
    if (this.#quotas !== undefined) return this.#quotas;
    const { reportingRoutes, quotas } = this.partition;
    if (reportingRoutes === 0) return NO_QUOTAS;
    const shared: Quota[] = [];
    for (const [, quota] of quotas) if (quota.routes === reportingRoutes) shared.push(quota);
    return shared;
  }

  /** How long its next request has to wait. */
  wait(nowMs: number, isPaced: boolean): Wait {
    const { partition } = this;
    const pausedMs = Math.max(this.pausedUntilMs, partition.pausedUntilMs) - nowMs;
    const mustMs = Math.max(pausedMs, isPaced ? partition.rate.waitMs(nowMs) : 0);
    let wait = mustMs > 0 ? bothMs(mustMs) : NO_WAIT;
    if (!isPaced) return wait;
    for (const quota of this.quotas) {
      wait = longer(wait, quota.wait(nowMs));
      const rateMs = quota.rate.waitMs(nowMs);
      if (rateMs > 0) wait = longer(wait, bothMs(rateMs));
    }
    return wait;
  }

  /** A request is sent now. Returns the quotas that count it, for {@link ended}. */
  sent(nowMs: number): readonly Quota[] {
    const { partition, quotas } = this;
    partition.rate.sent(nowMs);
    partition.sent++;
    for (const quota of quotas) quota.sent(nowMs);
    return quotas;
  }

  /** The response to a request has arrived, or will not. `counted` is what {@link sent} returned. */
  ended(counted: readonly Quota[]): void {
    this.partition.ended++;
    for (const quota of counted) quota.answered();
  }

  /** Learns from the quotas that a response reported. `endedBefore` requests had ended when its own request was sent. */
  learn(
    reports: readonly QuotaReport[],
    nowMs: number,
    random: () => number,
    endedBefore: number,
  ): void {
    if (reports.length === 0) return;
    const own: OwnUse = { sent: this.partition.sent, countedMin: endedBefore + 1 };
    const quotas = reports.map((report) => {
      const quota = this.partition.quotaOf(report);
      quota.report(report, nowMs, random(), own);
      return quota;
    });
    this.#setQuotas(quotas);
  }

  /**
   * A request that was sent at `sentAtMs` was refused. The rate falls for the quotas that its response reported as used up:
   * requests that other quotas count don't wait. If it named none, all requests of the caller become fewer.
   */
  refused(reports: readonly QuotaReport[], sentAtMs: number, nowMs: number): void {
    let isNamed = false;
    for (const report of reports) {
      if (report.remaining > 0) continue;
      isNamed = true;
      this.partition.quotaOf(report).rate.refused(sentAtMs, nowMs);
    }
    if (!isNamed) this.partition.rate.refused(sentAtMs, nowMs);
  }

  /** The route is no longer remembered, and what its requests in flight still report is no longer known of it. */
  forget(): void {
    this.#isForgotten = true;
    this.#dropQuotas();
  }

  #dropQuotas(): void {
    if (this.#quotas === undefined) return;
    for (const quota of this.#quotas) quota.routes--;
    this.partition.reportingRoutes--;
    this.#quotas = undefined;
  }

  #setQuotas(quotas: readonly Quota[]): void {
    if (this.#isForgotten) return;
    const before = this.#quotas;
    if (
      before !== undefined &&
      before.length === 1 &&
      quotas.length === 1 &&
      before[0] === quotas[0]
    )
      return;
    this.#dropQuotas();
    this.#quotas = quotas;
    for (const quota of quotas) quota.routes++;
    this.partition.reportingRoutes++;
  }
}
