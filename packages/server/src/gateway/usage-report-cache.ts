// Keeps callers that ask for their usage from keeping the ledger's database busy, which decisions wait for. One report of
// a tenant is read at a time and answers all that ask meanwhile, few are read side by side, and each is kept for a
// while: the longer it took to read, the longer.

import { BoundedMap, type Clock } from "sluice";

/** Reports that are read side by side, of all tenants: two of the eight connections to PostgreSQL. */
const READS_MAX = 2;
/** Tenants that wait for their turn; others are refused. */
const WAITING_MAX = 100;
/** Reports that are kept; those that were read first are forgotten first. */
const REPORTS_MAX = 1_000;
/** How long a report is kept, in multiples of the time that it took: a tenant reads for a tenth of the time at most. */
const KEPT_FACTOR = 10;
const KEPT_MS_MIN = 5_000;
const KEPT_MS_MAX = 600_000;

interface KeptReport {
  readonly report: object;
  readonly untilMs: number;
}

/** Reports of tenants, by their names. */
export class UsageReportCache {
  readonly #clock: Clock;
  readonly #kept = new BoundedMap<string, KeptReport>(REPORTS_MAX);
  /** Those that are being read, or wait for it. */
  readonly #reading = new Map<string, Promise<object>>();
  #waiting: (() => void)[] = [];
  #reads = 0;

  /** @param clock - Its `now` says how old a report is. */
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * The report of a tenant: a kept one, the one that is being read, or what `read` resolves to. Undefined if too many
   * tenants wait already. What `read` rejects with is not kept.
   */
  async get(tenant: string, read: () => Promise<object>): Promise<object | undefined> {
    const kept = this.#kept.get(tenant);
    if (kept !== undefined && this.#clock.now() < kept.untilMs) return kept.report;
    const known = this.#reading.get(tenant);
    if (known !== undefined) return known;
    if (this.#waiting.length >= WAITING_MAX) return undefined;
    const reading = this.#inTurn(() => this.#readAndKeep(tenant, read));
    this.#reading.set(tenant, reading);
    try {
      return await reading;
    } finally {
      this.#reading.delete(tenant);
    }
  }

  async #readAndKeep(tenant: string, read: () => Promise<object>): Promise<object> {
    const sinceMs = this.#clock.now();
    const report = await read();
    const nowMs = this.#clock.now();
    const tookMs = (nowMs - sinceMs) * KEPT_FACTOR;
    const keptMs = Math.min(Math.max(tookMs, KEPT_MS_MIN), KEPT_MS_MAX);
    this.#kept.set(tenant, { report, untilMs: nowMs + keptMs });
    return report;
  }

  /** Runs a task when fewer than the most are under way, the first that came first. */
  async #inTurn<T>(task: () => Promise<T>): Promise<T> {
    if (this.#reads >= READS_MAX) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#reads++;
    try {
      return await task();
    } finally {
      // The next one takes over the place of this one.
      const next = this.#waiting.shift();
      if (next === undefined) this.#reads--;
      else next();
    }
  }
}
