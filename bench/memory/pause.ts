// The longest pause on the way to ten million live keys, and while callers come and go among them, over the same
// on a Map of objects. A pause is the longest gap between two operations of a tight loop that reads the clock
// after each, whatever caused it: the garbage collector, a growing table or anything else. Each side has its own
// process: in one heap, collections for the Map would stop Sluice too.

import { PerformanceObserver, performance } from "node:perf_hooks";
import { setImmediate } from "node:timers/promises";
import { createLimiter, memoryStore, tokenBucket } from "sluice";
import type { Bench, Finding } from "../bench.js";
import { effort } from "../effort.js";
import { median, summarise } from "../harness.js";
import { RandomIds, toKey } from "../random.js";

const KEYS = effort({ full: 10_000_000, quick: 300_000 });
const OPERATIONS = effort({ full: 3_000_000, quick: 100_000 });
// One request in this many is a newcomer's, and the oldest key leaves. A Map of ten million dies of
// more than 6.7 million that left ("Map maximum size exceeded"), so there are fewer.
const NEWCOMER_EVERY = 3;
// What other people's processes do to ours is noise, and hits the side with short pauses.
const SLUICE_LIVES = effort({
  full: ["sluice 1", "sluice 2", "sluice 3"],
  quick: ["sluice 1"],
});

/** What one side went through. */
interface Pauses {
  readonly fillMs: number;
  /** With all keys live, while some leave and others come. */
  readonly liveMs: number;
  /** The longest collection of all. */
  readonly gcMs: number;
}

/** Counts a request of one key; and lets a key go, where that is not the store's own business. */
interface Side {
  touch(key: string): void;
  leave?(key: string): void;
}

export const pause: Bench<Pauses> = {
  id: "memory/pause",
  unit: "share",
  bound: { is: "at most", bar: 1 / 20, goal: 1 / 100 },
  parts: [...SLUICE_LIVES, "map"],
  heapMbMax: 8192,
  runPart: (part) => suffer(part === "map" ? mapSide() : sluiceSide()),
  conclude: (lives) => toFindings(lives.slice(0, -1), lives[lives.length - 1] as Pauses),
};

function sluiceSide(): Side {
  const limit = tokenBucket({ capacity: 100, refill: { amount: 100, everyMs: 86_400_000 } });
  const limiter = createLimiter({ limit, store: memoryStore({ keysMax: KEYS }) });
  return { touch: (key) => void limiter.check(key) };
}

function mapSide(): Side {
  const counters = new Map<string, { count: number }>();
  return {
    touch: (key) => {
      const counter = counters.get(key);
      if (counter === undefined) counters.set(key, { count: 1 });
      else counter.count++;
    },
    leave: (key) => void counters.delete(key),
  };
}

async function suffer(side: Side): Promise<Pauses> {
  const longestGcMs = watchCollections();
  const fillMs = longestGapMs(KEYS, (i) => side.touch(toKey(i)));
  const ids = new RandomIds(KEYS);
  let oldest = 0;
  const liveMs = longestGapMs(OPERATIONS, (i) => {
    if (i % NEWCOMER_EVERY !== 0) return side.touch(toKey(oldest + ids.next()));
    side.leave?.(toKey(oldest));
    side.touch(toKey(oldest + KEYS));
    oldest++;
  });
  return { fillMs, liveMs, gcMs: await longestGcMs() };
}

function longestGapMs(operations: number, operate: (i: number) => void): number {
  let longestMs = 0;
  let lastMs = performance.now();
  for (let i = 0; i < operations; i++) {
    operate(i);
    const nowMs = performance.now();
    if (nowMs - lastMs > longestMs) longestMs = nowMs - lastMs;
    lastMs = nowMs;
  }
  return longestMs;
}

/** Watches the collector from now on; the returned function returns its longest pause. */
function watchCollections(): () => Promise<number> {
  let longestMs = 0;
  const observer = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) longestMs = Math.max(longestMs, duration);
  });
  observer.observe({ entryTypes: ["gc"] });
  return async () => {
    // Entries are handed over between turns of the event loop.
    for (let turn = 0; turn < 3; turn++) await setImmediate();
    return longestMs;
  };
}

function toFindings(sluices: readonly Pauses[], map: Pauses): Finding[] {
  const note = `sluice ${describe(sluices)}; Map ${describe([map])}`;
  return [
    {
      ...toFinding(`from empty to ${KEYS / 1e6} million live keys and on`, sluices, map, longest),
      note,
    },
    // What a Map does once it has grown is much less, and so is what can be won over it.
    {
      ...toFinding(
        `with ${KEYS / 1e6} million live keys, growing left out`,
        sluices,
        map,
        whileLive,
      ),
      isJudged: false,
    },
  ];
}

function toFinding(
  life: string,
  sluices: readonly Pauses[],
  map: Pauses,
  pauseMs: (pauses: Pauses) => number,
): Finding {
  const ratios = sluices.map((sluice) => pauseMs(sluice) / pauseMs(map));
  const { value, spread } = summarise(ratios);
  const subject = `sluice tokenBucket check, ${life}`;
  return { subject, reference: "Map of objects", ratio: value, value, spread };
}

function whileLive({ liveMs }: Pauses): number {
  return liveMs;
}

function longest({ fillMs, liveMs }: Pauses): number {
  return Math.max(fillMs, liveMs);
}

function describe(lives: readonly Pauses[]): string {
  const middle = (figure: (life: Pauses) => number) => median(lives.map(figure)).toFixed(1);
  const filling = `filling ${middle(({ fillMs }) => fillMs)} ms`;
  const live = `all live ${middle(({ liveMs }) => liveMs)} ms`;
  return `${filling}, ${live}, longest gc ${middle(({ gcMs }) => gcMs)} ms`;
}
