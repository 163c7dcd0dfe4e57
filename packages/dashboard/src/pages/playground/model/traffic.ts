// The requests that clients send, before anything is refused. The same settings make the same requests.

import type { LoggedRequest } from "./read-log.js";
import { BARS, type Settings, WINDOWS } from "./settings.js";

/** A request. */
export interface Arrival {
  /** Since the start of the run. */
  readonly atMs: number;
  /** Which client, from 0. */
  readonly client: number;
}

/** The requests of a run. */
export interface Traffic {
  /** Unix milliseconds; the start of a window. */
  readonly startMs: number;
  readonly durationMs: number;
  /** By time. */
  readonly arrivals: readonly Arrival[];
  readonly clients: number;
  /** Requests beyond {@link ARRIVALS_MAX}. */
  readonly leftOut: number;
}

/** More would not fit into a frame. */
export const ARRIVALS_MAX = 5_000;

/** Midnight in UTC, in the middle of each run: the calendar quota starts its next day there. */
const MIDNIGHT_MS = Date.UTC(2026, 5, 2);
/** How close to the edge of a window the requests of a burst are, as a share of the window. */
const EDGE_SHARE = 1 / 150;
const CLIENTS = 8;
const STORM_CLIENTS_MAX = 200;

/** The requests of a shape. `log` are those that were pasted. */
export function toTraffic(settings: Settings, log: readonly LoggedRequest[]): Traffic {
  if (settings.shape === "log") return fromLog(settings, log);
  const durationMs = WINDOWS * settings.windowMs;
  const sent = SENT_BY[settings.shape](settings);
  const arrivals = sent
    .map(({ atMs, client }) => ({ atMs: Math.floor(atMs), client }))
    .toSorted((a, b) => a.atMs - b.atMs);
  return toBounded(arrivals, { startMs: MIDNIGHT_MS - durationMs / 2, durationMs });
}

const SENT_BY = { steady, edge, storm, clients, drawn } satisfies Record<
  Exclude<Settings["shape"], "log">,
  (settings: Settings) => Arrival[]
>;

function toBounded(
  arrivals: readonly Arrival[],
  times: Pick<Traffic, "startMs" | "durationMs">,
): Traffic {
  const kept = arrivals.slice(0, ARRIVALS_MAX);
  const clients = kept.reduce((most, { client }) => Math.max(most, client + 1), 1);
  return { ...times, arrivals: kept, clients, leftOut: arrivals.length - kept.length };
}

function loadOf({ limit, loadPercent }: Settings): number {
  return Math.max(1, Math.round((limit * loadPercent) / 100));
}

/** `count` requests of a client, evenly spread over [fromMs, toMs). */
function spread(count: number, fromMs: number, toMs: number, client = 0): Arrival[] {
  const stepMs = (toMs - fromMs) / count;
  return Array.from({ length: count }, (_, at) => ({ atMs: fromMs + at * stepMs, client }));
}

function steady(settings: Settings): Arrival[] {
  return spread(WINDOWS * loadOf(settings), 0, WINDOWS * settings.windowMs);
}

/** Bursts on both sides of an edge, twice; then the same burst in the middle of a window. */
function edge(settings: Settings): Arrival[] {
  const { windowMs } = settings;
  const around = Math.max(1, EDGE_SHARE * windowMs);
  return [1, 3, 4.5].flatMap((windows) => {
    const atMs = windows * windowMs;
    return [
      ...spread(loadOf(settings), atMs - around, atMs),
      ...spread(loadOf(settings), atMs, atMs + around),
    ];
  });
}

/** A few calls, and then, when something was down for a moment, all clients call together. */
function storm(settings: Settings): Arrival[] {
  const { windowMs, limit } = settings;
  const calm = spread(Math.max(1, Math.round(limit / 3)), 0, windowMs);
  const count = Math.min(STORM_CLIENTS_MAX, 2 * loadOf(settings));
  const random = toRandom(7);
  const together = Array.from({ length: count }, (_, client) => ({
    atMs: (1 + random() * 0.1) * windowMs,
    client: client + 1,
  }));
  return [...calm, ...together];
}

/** One client that sends far too much, and several that send little; all at random times. */
function clients(settings: Settings): Arrival[] {
  const random = toRandom(11);
  const durationMs = WINDOWS * settings.windowMs;
  return Array.from({ length: CLIENTS }, (_, client) => {
    const count = Math.ceil(WINDOWS * loadOf(settings) * (client === 0 ? 1.5 : 0.2));
    return Array.from({ length: count }, () => ({ atMs: random() * durationMs, client }));
  }).flat();
}

function drawn({ bars, windowMs }: Settings): Arrival[] {
  const barMs = (WINDOWS * windowMs) / BARS;
  return bars.flatMap((count, at) => spread(count, at * barMs, (at + 1) * barMs));
}

function fromLog({ windowMs }: Settings, log: readonly LoggedRequest[]): Traffic {
  const first = log[0]?.atMs ?? MIDNIGHT_MS;
  const last = log.at(-1)?.atMs ?? first;
  const startMs = Math.floor(first / windowMs) * windowMs;
  // One window more, to see what is left of the last requests.
  const windows = Math.max(2, Math.floor((last - startMs) / windowMs) + 2);
  const arrivals = log.map(({ atMs, client }) => ({ atMs: atMs - startMs, client }));
  return toBounded(arrivals, { startMs, durationMs: windows * windowMs });
}

/** Random numbers that repeat (mulberry32), from 0 to below 1. */
function toRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
