// Claims about escalation: keys that keep being refused are blocked, for longer each time, and a level is forgotten
// in the end. For stores that have `escalate`; others say so by not having it.

import {
  countRefusals,
  type EscalationState,
  type EscalationTerms,
} from "../../algorithms/escalation.js";
import { fixedWindow } from "../../limits/limits.js";
import type { Escalated } from "../../stores/refusal-reports.js";
import type { Claim, Stand } from "./claim.js";
import { expectDecision, expectEqual } from "./expect.js";
import { SeededRandom } from "./random.js";
import { Gate } from "./stand.js";

const GROUP = "refusals escalate into longer blocks";

/** Three refusals in ten seconds: blocked for one second, then for five. Forgotten twenty seconds later. */
const TERMS: EscalationTerms = {
  refusals: 3,
  windowMs: 10_000,
  blocksMs: [1_000, 5_000],
  forgetMs: 20_000,
};

/** A report, and what the store has to answer. */
type Row = readonly [
  atMs: number,
  refusals: number,
  ageMs: number,
  level: number,
  blockMs: number,
  refusalsLeft: number,
];

const TABLES: readonly { readonly title: string; readonly rows: readonly Row[] }[] = [
  {
    title: "each block is longer than the one before, and the last one repeats",
    rows: [
      // atMs  refusals  ageMs  level  blockMs  refusalsLeft
      [0, 2, 0, 0, 0, 1],
      [100, 1, 0, 1, 1_000, 3],
      [1_100, 3, 0, 2, 5_000, 3],
      [6_100, 7, 0, 2, 5_000, 3],
    ],
  },
  {
    title: "a window starts with its first refusal and ends on time",
    rows: [
      [0, 2, 0, 0, 0, 1],
      [9_999, 1, 0, 1, 1_000, 3],
      [11_000, 2, 0, 1, 0, 1],
      [21_000, 2, 0, 1, 0, 1],
      // Reported late: the first of them was within the window.
      [31_500, 1, 600, 1, 1_000, 3],
    ],
  },
  {
    title: "what is refused before a block begins and reported after it does not count twice",
    rows: [
      [0, 3, 0, 1, 1_000, 3],
      [999, 50, 900, 1, 0, 3],
      [1_000, 2, 0, 1, 0, 1],
    ],
  },
  {
    title: "a level is forgotten exactly, counted from the end of its block",
    rows: [
      [0, 3, 0, 1, 1_000, 3],
      [20_999, 3, 0, 2, 5_000, 3],
      [45_999, 3, 0, 1, 1_000, 3],
    ],
  },
  {
    title: "a clock that steps back makes no block longer than its level, and lowers no level",
    rows: [
      [10_000, 3, 0, 1, 1_000, 3],
      [5_000, 3, 0, 1, 0, 3],
      [6_000, 3, 0, 2, 5_000, 3],
      [1_000, 9, 0, 2, 0, 3],
      [6_000, 2, 0, 2, 0, 1],
    ],
  },
  {
    title: "a clock that steps back before a window starts another one",
    rows: [
      [10_000, 2, 0, 0, 0, 1],
      [5_000, 1, 0, 0, 0, 2],
      [14_999, 1, 0, 0, 0, 1],
    ],
  },
];

/** Reports of one random trace. */
const REPORTS = 200;

/** All claims of this file. */
export const escalationClaims: readonly Claim[] = [
  ...TABLES.map(({ title, rows }) => ({
    group: GROUP,
    title,
    check: (stand: Stand) => checkRows(stand, rows),
  })),
  {
    group: GROUP,
    title: "random reports on a clock that steps back are answered as the pure function does",
    check: checkRandom,
  },
  { group: GROUP, title: "the block is one like any other", check: blockLikeAnyOther },
  { group: GROUP, title: "unblock forgets the level", check: unblockForgets },
  { group: GROUP, title: "a longer block stays", check: longerStays },
  { group: GROUP, title: "each key and scope has its own level", check: levelsApart },
];

async function checkRows(stand: Stand, rows: readonly Row[]): Promise<void> {
  const startMs = stand.clock.now();
  for (const [atMs, refusals, ageMs, ...expected] of rows) {
    stand.clock.set(startMs + atMs);
    const answer = await report(stand, "key", { refusals, ageMs });
    if (answer === undefined) return;
    const { level, blockMs, refusalsLeft } = answer;
    expectEqual(`at ${atMs} ms`, [level, blockMs, refusalsLeft], expected);
  }
}

async function checkRandom(stand: Stand): Promise<void> {
  const random = new SeededRandom(`escalation ${stand.seed}`);
  const startMs = stand.clock.now();
  let state: EscalationState | undefined;
  for (let i = 0; i < REPORTS; i++) {
    const stepMs = random.pick([0, 1, 100, 999, 1_000, 5_000, 12_000, 40_000, -1, -1_000, -7_000]);
    stand.clock.set(Math.max(startMs, stand.clock.now() + stepMs));
    const refusals = random.between(1, 4);
    const ageMs = random.pick([0, 0, 1, 900]);
    const answer = await report(stand, "key", { refusals, ageMs });
    if (answer === undefined) return;
    const step = countRefusals(state, TERMS, { refusals, ageMs }, stand.clock.now());
    state = step.state;
    const expected = [state.level, step.blockMs, step.refusalsLeft];
    const { level, blockMs, refusalsLeft } = answer;
    expectEqual(`report ${i} of seed ${stand.seed}`, [level, blockMs, refusalsLeft], expected);
  }
}

async function blockLikeAnyOther(stand: Stand): Promise<void> {
  const gate = new Gate(stand, fixedWindow({ limit: 10, windowMs: 60_000 }));
  await gate.take("key", 4);
  if ((await report(stand, "key", { refusals: 3 })) === undefined) return;
  stand.clock.advance(1);
  const blocked = { allowed: false, remaining: 0, retryAfterMs: 999, blockedMs: 999 };
  expectDecision("peek", await gate.limiter.peek("key"), blocked);
  expectDecision("a request", await gate.take("key"), blocked);
  expectDecision("another key", await gate.take("other"), { allowed: true });
  stand.clock.advance(999);
  expectDecision("at the end", await gate.take("key"), { allowed: true, remaining: 5 });
}

async function unblockForgets(stand: Stand): Promise<void> {
  const gate = new Gate(stand, fixedWindow({ limit: 10, windowMs: 60_000 }));
  if ((await report(stand, "key", { refusals: 3 })) === undefined) return;
  expectEqual("was blocked", await gate.limiter.unblock("key"), true);
  expectDecision("after unblock", await gate.take("key"), { allowed: true, remaining: 9 });
  expectEqual("level", (await report(stand, "key", { refusals: 3 }))?.level, 1);
}

async function longerStays(stand: Stand): Promise<void> {
  const gate = new Gate(stand, fixedWindow({ limit: 10, windowMs: 60_000 }));
  await gate.limiter.block("key", 4_000);
  if ((await report(stand, "key", { refusals: 3 })) === undefined) return;
  expectDecision("blocked", await gate.take("key"), { allowed: false, retryAfterMs: 4_000 });
}

async function levelsApart(stand: Stand): Promise<void> {
  if ((await report(stand, "key", { refusals: 3 })) === undefined) return;
  expectEqual("another key", (await report(stand, "Key", { refusals: 2 }))?.level, 0);
  const elsewhere = { refusals: 2, scope: "elsewhere" };
  expectEqual("another scope", (await report(stand, "key", elsewhere))?.level, 0);
}

/** Undefined if the store has no `escalate`. */
async function report(
  { store, clock }: Stand,
  key: string,
  { refusals, ageMs = 0, scope = "default" }: { refusals: number; ageMs?: number; scope?: string },
): Promise<Escalated | undefined> {
  const one = { scope, key, blockScopes: [scope], terms: TERMS, refusals, ageMs };
  return (await store.escalate?.([{ ...one, nowMs: clock.now() }]))?.[0];
}
