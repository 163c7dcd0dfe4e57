// What merged regions promise of every admission over real servers: those of its own region and those that it had to
// have heard of are within the limit. What it had to have heard of follows from the lag that the other processes report, the
// time between two announcements, and how late the timers of this machine were.

import { expect } from "vitest";
import { type Clock, systemClock } from "../../src/base/clock.js";
import type { Policy } from "../../src/rules/rules.js";

/** Clocks show whole milliseconds, and a lag is the difference of two readings. */
const ROUNDING_MS = 2;

/** A clock that knows how late its timers were. */
export class LateClock implements Clock {
  readonly #skewMs: number;
  readonly #dueMs = new Set<{ readonly atMs: number }>();
  #lateMsMax = 0;

  /** @param skewMs - How wrong it is. */
  constructor(skewMs = 0) {
    this.#skewMs = skewMs;
  }

  now(): number {
    return systemClock.now() + this.#skewMs;
  }

  wall(): number {
    return Date.now() + this.#skewMs;
  }

  after(delayMs: number, task: () => void): () => void {
    const due = { atMs: systemClock.now() + delayMs };
    this.#dueMs.add(due);
    const cancel = systemClock.after?.(delayMs, () => {
      this.#dueMs.delete(due);
      this.#lateMsMax = Math.max(this.#lateMsMax, systemClock.now() - due.atMs);
      task();
    });
    return () => {
      this.#dueMs.delete(due);
      cancel?.();
    };
  }

  /** The most by which a timer was late so far, those that have yet to fire included. */
  get lateMsMax(): number {
    const nowMs = systemClock.now();
    for (const { atMs } of this.#dueMs) this.#lateMsMax = Math.max(this.#lateMsMax, nowMs - atMs);
    return this.#lateMsMax;
  }
}

/** The process of a region. */
export interface MergedProcess {
  readonly region: string;
  readonly policy: Policy;
  readonly clock: LateClock;
}

/** What the limit is, and how late a region may hear of an admission besides the lag. */
export interface HeardOptions {
  readonly limit: number;
  readonly syncMs: number;
  /** For how long a process spends what it leased from its region's store; 0 if each request asks the store. */
  readonly leaseMs: number;
}

/** Until when a region has heard what other processes admitted, by the name of their region. */
interface Heard {
  readonly atMs: number;
  readonly untilMs: ReadonlyMap<string, number>;
}

/** Admissions of one key by one process in each region, each of them checked. */
export class HeardUnits {
  readonly #options: HeardOptions;
  readonly #processes: readonly MergedProcess[];
  /** By region, when each unit was admitted, as the process that admitted it learned. */
  readonly #admittedMs: ReadonlyMap<string, number[]>;
  readonly #heard: ReadonlyMap<string, Heard[]>;

  constructor(processes: readonly MergedProcess[], options: HeardOptions) {
    this.#options = options;
    this.#processes = processes;
    this.#admittedMs = new Map(processes.map(({ region }) => [region, []]));
    this.#heard = new Map(processes.map(({ region }) => [region, []]));
  }

  get policies(): readonly Policy[] {
    return this.#processes.map(({ policy }) => policy);
  }

  /** Units admitted so far. */
  get total(): number {
    return [...this.#admittedMs.values()].reduce((sum, { length }) => sum + length, 0);
  }

  /** Sends that many requests in every region together, and checks each admission. */
  async burst(ask: (policy: Policy) => Promise<boolean>, count: number): Promise<void> {
    for (const process of this.#processes) this.#read(process);
    await Promise.all(
      this.#processes.flatMap(({ region, policy }) => {
        const heard = this.#heardBy(region);
        return Array.from({ length: count }, async () => {
          // A region's answers come in the order of its decisions.
          if (await ask(policy)) this.#admit(region, heard);
        });
      }),
    );
  }

  #admit(region: string, heard: number): void {
    const own = this.#admittedMs.get(region) ?? [];
    own.push(systemClock.now());
    const { limit } = this.#options;
    expect(
      own.length + heard,
      `${region}: ${own.length} own, ${heard} heard of`,
    ).toBeLessThanOrEqual(limit);
  }

  #read({ region }: MergedProcess): void {
    const atMs = systemClock.now();
    const untilMs = new Map<string, number>();
    for (const other of this.#processes) {
      if (other.region === region) continue;
      const { peers } = other.policy.stats.merged?.[0] ?? { peers: [] };
      const lagMs = peers.find((peer) => peer.region === region)?.lagMs ?? Number.POSITIVE_INFINITY;
      const extraMs = this.#options.syncMs + other.clock.lateMsMax + ROUNDING_MS;
      untilMs.set(other.region, atMs - lagMs - extraMs);
    }
    this.#heard.get(region)?.push({ atMs, untilMs });
  }

  /** The units of other regions that every decision of a region from now on must have taken into account. */
  #heardBy(region: string): number {
    // What is spent now may have been leased a while ago, with what the region had heard of by then.
    const leasedMs = systemClock.now() - this.#options.leaseMs;
    const heard = this.#heard.get(region)?.findLast(({ atMs }) => atMs <= leasedMs);
    let units = 0;
    for (const [other, untilMs] of heard?.untilMs ?? [])
      units += (this.#admittedMs.get(other) ?? []).filter((atMs) => atMs < untilMs).length;
    return units;
  }
}
