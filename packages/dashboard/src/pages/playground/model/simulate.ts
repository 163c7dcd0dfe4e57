// Runs traffic through one limit. Every decision is made by the library's own limiter, at the time of the request.

import { createLimiter, type Decision, type Limiter, memoryStore, type Permit } from "sluice";
import { type Algorithm, toLimit } from "./algorithms.js";
import { EventQueue } from "./event-queue.js";
import { retrySoonMs, type Settings } from "./settings.js";
import type { Traffic } from "./traffic.js";

/** A request and its decision. Times count from the start of the run. */
export interface Attempt {
  readonly atMs: number;
  readonly client: number;
  /** When the client sent it first: earlier than `atMs` if it is a retry. */
  readonly firstMs: number;
  /** Retries of it so far. */
  readonly retries: number;
  readonly decision: Decision;
}

/** What became of the traffic under one algorithm. */
export interface Run {
  readonly algorithm: Algorithm;
  /** By time. */
  readonly attempts: readonly Attempt[];
  /** In each step of the time axis, requests that went on immediately, that had to wait, and that were refused. */
  readonly admitted: readonly number[];
  readonly delayed: readonly number[];
  readonly refused: readonly number[];
  /** The share of the limit in use at the end of each step, of the busiest key: 1 is all of it. */
  readonly used: readonly number[];
}

/** How many steps the time axis has. */
export const STEPS = 72;
/** Retries of one request. */
const RETRIES_MAX = 24;
/** The most attempts of one run, retries included. */
const ATTEMPTS_MAX = 6_000;
/** Repeats of a run must not differ. */
const SEED = { low: 1, high: 2 };

interface Sent {
  readonly atMs: number;
  readonly firstMs: number;
  readonly client: number;
  readonly retries: number;
}

/** Runs the traffic through the limit that the settings make of an algorithm. */
export function simulate(algorithm: Algorithm, settings: Settings, traffic: Traffic): Run {
  return new Simulation(algorithm, settings, traffic).run();
}

/** The key that a client is counted by. */
export function keyOf({ keying }: Pick<Settings, "keying">, client: number): string {
  return keying === "shared" ? "all" : `client ${client + 1}`;
}

class Simulation {
  readonly #algorithm: Algorithm;
  readonly #settings: Settings;
  readonly #traffic: Traffic;
  readonly #limiter: Limiter;
  readonly #retries = new EventQueue<Sent>();
  readonly #attempts: Attempt[] = [];
  readonly #admitted = zeros();
  readonly #delayed = zeros();
  readonly #refused = zeros();
  readonly #used: number[] = [];
  /** Permits that are held, in the order in which they are released: all are held equally long. */
  readonly #held: { readonly atMs: number; readonly permit: Permit }[] = [];
  #released = 0;

  constructor(algorithm: Algorithm, settings: Settings, traffic: Traffic) {
    this.#algorithm = algorithm;
    this.#settings = settings;
    this.#traffic = traffic;
    // With room to spare, so that no key is evicted.
    const keysMax = 64 + 2 * traffic.clients;
    const entriesMax = keysMax + settings.limit * traffic.clients;
    this.#limiter = createLimiter({
      limit: toLimit(algorithm, settings),
      store: memoryStore({
        keysMax,
        logEntriesMax: entriesMax,
        permitsMax: entriesMax,
        blocksMax: 1,
        seed: SEED,
      }),
    });
  }

  run(): Run {
    const { arrivals, durationMs } = this.#traffic;
    const busiest = this.#busiestKey();
    const send = (sent: Sent) => {
      this.#sampleUntil(sent.atMs, busiest);
      this.#decide(sent);
    };
    for (const { atMs, client } of arrivals) {
      this.#retries.takeUntil(atMs, send);
      send({ atMs, firstMs: atMs, client, retries: 0 });
    }
    this.#retries.takeUntil(durationMs - 1, send);
    this.#sampleUntil(Number.POSITIVE_INFINITY, busiest);
    this.#limiter.close();
    return {
      algorithm: this.#algorithm,
      attempts: this.#attempts,
      admitted: this.#admitted,
      delayed: this.#delayed,
      refused: this.#refused,
      used: this.#used,
    };
  }

  #decide(sent: Sent): void {
    const { atMs, client, firstMs, retries } = sent;
    this.#releaseUntil(atMs);
    const decision = this.#ask(keyOf(this.#settings, client), atMs);
    this.#attempts.push({ atMs, client, firstMs, retries, decision });
    const step = Math.min(STEPS - 1, Math.floor((atMs * STEPS) / this.#traffic.durationMs));
    const counts = decision.allowed
      ? decision.delayMs > 0
        ? this.#delayed
        : this.#admitted
      : this.#refused;
    counts[step] = (counts[step] ?? 0) + 1;
    if (!decision.allowed) this.#retry(sent, decision);
  }

  #ask(key: string, atMs: number): Decision {
    const { cost, holdMs } = this.#settings;
    const nowMs = this.#traffic.startMs + atMs;
    if (this.#algorithm !== "concurrency") return this.#limiter.check(key, { cost, nowMs });
    const permit = this.#limiter.acquire(key, { nowMs });
    if (permit.allowed) this.#held.push({ atMs: atMs + holdMs, permit });
    const { allowed, limit, remaining, retryAfterMs, resetMs, delayMs, source } = permit;
    return { allowed, limit, remaining, retryAfterMs, resetMs, delayMs, source };
  }

  #releaseUntil(untilMs: number): void {
    for (;;) {
      const held = this.#held[this.#released];
      if (held === undefined || held.atMs > untilMs) return;
      held.permit.release({ nowMs: this.#traffic.startMs + held.atMs });
      this.#released++;
    }
  }

  #retry({ atMs, client, firstMs, retries }: Sent, { retryAfterMs }: Decision): void {
    const { retry } = this.#settings;
    if (retry === "none" || retries >= RETRIES_MAX || this.#attempts.length >= ATTEMPTS_MAX) return;
    const waitMs = retry === "soon" ? retrySoonMs(this.#settings) : toHeaderMs(retryAfterMs);
    if (waitMs === Number.POSITIVE_INFINITY) return;
    this.#retries.add({ atMs: atMs + waitMs, firstMs, client, retries: retries + 1 });
  }

  /** Reads how much is in use at the end of each step that ends by that time. */
  #sampleUntil(untilMs: number, key: string): void {
    const stepMs = this.#traffic.durationMs / STEPS;
    while (this.#used.length < STEPS) {
      // Just before the end: at the edge of a window, which is the end of a step, nothing is in use any more.
      const atMs = Math.max(0, Math.floor((this.#used.length + 1) * stepMs) - 1);
      if (atMs >= untilMs) return;
      this.#releaseUntil(atMs);
      const nowMs = this.#traffic.startMs + atMs;
      const { remaining, limit } = this.#limiter.peek(key, { cost: 0, nowMs });
      this.#used.push(1 - remaining / limit);
    }
  }

  #busiestKey(): string {
    const counts = new Map<number, number>();
    for (const { client } of this.#traffic.arrivals)
      counts.set(client, (counts.get(client) ?? 0) + 1);
    const [busiest = 0] = [...counts].reduce((most, one) => (one[1] > most[1] ? one : most), [
      0, 0,
    ] as [number, number]);
    return keyOf(this.#settings, busiest);
  }
}

/** As clients see it: in whole seconds, rounded up. */
function toHeaderMs(retryAfterMs: number): number {
  return Math.max(1, Math.ceil(retryAfterMs / 1_000)) * 1_000;
}

function zeros(): number[] {
  return new Array<number>(STEPS).fill(0);
}
