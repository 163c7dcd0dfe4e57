import { describe, expect, it } from "vitest";
import type { Verdict } from "../base/decision.js";
import { SluiceError } from "../base/errors.js";
import { memoryStore } from "../stores/memory/memory-store.js";
import type { RefusalReport } from "../stores/refusal-reports.js";
import type { Charge, Counter, CounterStatus, Outcome, Settling, Store } from "../stores/store.js";
import { storeConformance } from "./store-conformance.js";

const smallStore = () => memoryStore({ keysMax: 10_000 });
const group = {
  tables: "the step tables hold",
  traces: "random traces are answered as the pure functions answer them",
  stepping: "random traces on a clock that steps back are answered as by the pure functions",
  refusals: "a refusal costs nothing",
  several: "several limits are charged all or none",
  shadows: "a shadow charge is counted if it passes and never refuses",
  callers: "callers at the same time are admitted as if one after another",
  requests: "a requestId makes a request count once",
  blocks: "a block refuses its key until it ends",
  fence: "a store decides for the epoch under which it is home, and for no other",
  escalation: "refusals escalate into longer blocks",
  settled: "a reservation is settled once, for what it really cost",
  refunds: "a refund is capped at full",
  resets: "a reset forgets what was used",
  permits: "a permit is held until released or expired",
  debits: "a debit charges without asking and reports what is in use",
  held: "a charge that is held briefly is settled for what it really cost",
  keys: "keys that differ in anything are counted apart",
  names: "limiters share a counter by name alone",
  changes: "changed numbers carry over the units used",
};

describe("a memory store", () => {
  for (const { name, run } of storeConformance({ createStore: smallStore })) it(name, run);
});

describe("a store that answers later", () => {
  const createStore = async () => later(smallStore());
  for (const { name, run } of storeConformance({ createStore, traces: 30, seed: 2 })) it(name, run);
});

describe("a store that holds quotas only", () => {
  const createStore = () => quotasOnly(smallStore());
  const cases = storeConformance({ createStore, limits: ["quota"], traces: 30, seed: 3 });

  for (const { name, run } of cases.filter((c) => c.skipped === undefined)) it(name, run);

  it("has its reason where a case is about other limits", () => {
    const skipped = cases.filter((c) => c.skipped !== undefined);
    const others =
      /bucket|window|log|permit|shaper|concurrency|leaky|sliding|rounded|recovers|meter|refill/i;
    expect(skipped.filter(({ name }) => !others.test(name)).map(({ name }) => name)).toEqual([
      `${group.names}: several limits of one limiter are counted apart`,
      `${group.names}: another algorithm starts empty`,
      `${group.changes}: to a limiter with the old numbers, still in use`,
    ]);
    const reasons = new Set(skipped.map((c) => c.skipped));
    expect([...reasons]).toEqual(["the store holds quota limits only"]);
  });

  it("runs cases of every group, but not of permits", () => {
    const run = cases.filter((c) => c.skipped === undefined).map((c) => c.group);
    const expected = Object.values(group).filter((name) => name !== group.permits);
    expect(new Set(run)).toEqual(new Set(expected));
  });
});

type Break = (inner: Store) => Partial<Store>;

const CLOCK_START_MS = Date.UTC(2024, 5, 1, 12);

// What is wrong with a store, and the case that has to notice.
const broken: readonly [what: string, group: string, title: string, change: Break][] = [
  [
    "charges on refusal",
    group.refusals,
    "a hundred refusals leave what was left",
    chargesOnRefusal,
  ],
  [
    "charges on refusal",
    group.tables,
    "a token bucket keeps the part of a token",
    chargesOnRefusal,
  ],
  ["ignores cost", group.several, "a refusal by one takes nothing", onCharges({ cost: () => 1 })],
  ["ignores cost", group.traces, "tokenBucket", onCharges({ cost: () => 1 })],
  [
    "never expires permits",
    group.permits,
    "it expires after permitMs",
    onCharges({ nowMs: stopPermits }),
  ],
  [
    "never expires permits",
    group.tables,
    "permits expire on time",
    onCharges({ nowMs: stopPermits }),
  ],
  ["drops blocks", group.blocks, "it ends exactly, and cost nothing", () => ({ block: () => {} })],
  ["ends blocks late", group.blocks, "it ends exactly, and cost nothing", endsBlocksLate],
  ["never unblocks", group.blocks, "unblock ends it immediately", () => ({ unblock: () => {} })],
  [
    "escalates without a block",
    group.escalation,
    "the block is one like any other",
    escalatesWithout,
  ],
  ["keeps levels", group.escalation, "unblock forgets the level", () => ({ unblock: () => {} })],
  [
    "reports one too many",
    group.tables,
    "a fixed window fills",
    onVerdicts({ remaining: (n) => n + 1 }),
  ],
  ["reports one too many", group.traces, "fixedWindow", onVerdicts({ remaining: (n) => n + 1 })],
  [
    "rounds waits",
    group.tables,
    "a token bucket passes exactly",
    onVerdicts({ retryAfterMs: toSeconds }),
  ],
  [
    "rounds waits",
    group.traces,
    "several limits together",
    onVerdicts({ retryAfterMs: toSeconds }),
  ],
  [
    "delays nothing",
    group.tables,
    "a shaper lets requests leave",
    onVerdicts({ delayMs: () => 0 }),
  ],
  ["folds case", group.keys, "hostile keys", onCharges({ key: (key) => key.toLowerCase() })],
  ["normalizes keys", group.keys, "hostile keys", onCharges({ key: (key) => key.normalize() })],
  ["cuts keys", group.keys, "hostile keys", onCharges({ key: (key) => key.slice(0, 1000) })],
  [
    "writes keys as UTF-8",
    group.keys,
    "keys that are not valid Unicode",
    onCharges({ key: toWellFormed }),
  ],
  ["blocks folded keys", group.keys, "blocks of hostile keys", blocksFolded],
  ["joins names by colons", group.names, "other names share nothing", onCharges({ all: joinName })],
  [
    "mixes up parts",
    group.names,
    "several limits of one limiter",
    onCharges({ counter: toFirstPart }),
  ],
  [
    "starts in full on a change",
    group.changes,
    "to a larger limit",
    onCharges({ counter: nameByNumbers }),
  ],
  ["charges one by one", group.several, "a refusal by one takes nothing", chargesOneByOne],
  ["enforces shadows", group.shadows, "a shadow that is full lets", onCharges({ all: enforce })],
  ["asks, waits, then takes", group.callers, "a hundred callers of ten units", asksThenTakes],
  ["asks, waits, then takes", group.requests, "sent a hundred times together", asksThenTakes],
  ["ignores requestIds", group.requests, "sent again, it is answered again", ignoresRequestIds],
  ["never refunds", group.settled, "a cancel leaves what was there", () => ({ settle: () => {} })],
  ["never refunds", group.permits, "a release frees its place", () => ({ settle: () => {} })],
  ["refunds twice", group.settled, "a commit of less refunds the rest", refundsTwice],
  ["refunds twice", group.traces, "slidingWindowLog", refundsTwice],
  ["never refunds", group.refunds, "more than was used makes full", () => ({ refund: () => {} })],
  ["never refunds", group.traces, "quota", () => ({ refund: () => {} })],
  ["never resets", group.resets, "all of it, of that key alone", () => ({ reset: () => {} })],
  ["takes on peek", group.traces, "concurrency", takesOnPeek],
  ["goes by the latest time that it saw", group.stepping, "slidingWindowCounter", neverGoesBack],
  ["debits nothing", group.debits, "from idle it uses its cost", onDebits({ cost: () => 0 })],
  [
    "debits 1 at least",
    group.debits,
    "a cost of nothing only reports",
    onDebits({ cost: atLeast1 }),
  ],
  ["refuses to be in debt", group.debits, "beyond the limit it is debt", debitsIfAllowed],
  ["clips debt", group.debits, "debt is refunded before there is room", clipsDebt],
  ["rounds use", group.debits, "use is not rounded to whole units", reportsUsed(Math.floor)],
  ["clips use", group.debits, "beyond the limit it is debt", reportsUsed((n) => Math.min(n, 10))],
  ["reports what was before", group.debits, "it adds to what was taken, as peek", reportsBefore],
  [
    "reports in another order",
    group.debits,
    "several are reported in their order",
    reportsBackwards,
  ],
  ["reads, waits, then writes", group.debits, "callers at the same time", debitsLate],
  ["holds nothing briefly", group.held, "a cancel leaves what was there", holdsWithReceiptsOnly],
  ["holds refusals", group.held, "a refusal holds nothing", holdsRefusals],
  ["keeps what it holds", group.held, "a commit of less refunds the rest", () => ({ settle() {} })],
  ["never charges an excess", group.held, "a commit of more is debt", clipsKept],
  ["holds the first only", group.held, "several limits yield a receipt each", holdsFirst],
];

// Those of them that cases about quotas have to notice.
const quotaCases = storeConformance({ createStore: smallStore, limits: ["quota"] });
const brokenQuotas = broken.filter(([, inGroup, title]) =>
  quotaCases.some((c) => c.skipped === undefined && c.name.startsWith(`${inGroup}: ${title}`)),
);

describe("the kit notices a store that", () => {
  it.each(broken)("%s, by %s: %s", async (_what, inGroup, title, change) => {
    const failures = await failuresOf(change, inGroup);
    const noticed = failures.filter((message) => message.includes(`"${inGroup}: ${title}`));
    expect(noticed, failures.join("\n")).not.toEqual([]);
  });

  it.each(brokenQuotas)("%s and holds quotas only, by %s: %s", async (...row) => {
    const [, inGroup, title, change] = row;
    const failures = await failuresOf(change, inGroup, ["quota"]);
    const noticed = failures.filter((message) => message.includes(`"${inGroup}: ${title}`));
    expect(noticed, failures.join("\n")).not.toEqual([]);
  });

  it("has nothing to notice: forwarding alone breaks no group of cases", async () => {
    for (const inGroup of [group.tables, group.blocks, group.keys, group.permits]) {
      expect(await failuresOf(() => ({}), inGroup)).toEqual([]);
    }
  });

  it("is identified by case, seed, trace and step, and again by the same seed", async () => {
    const [first] = await failuresOf(onCharges({ cost: () => 1 }), group.traces);
    expect(first).toMatch(
      /^store conformance, "random traces .*: tokenBucket": seed 5, trace \d+, step \d+: \w+.* of \d+ by ".*" at \d+: expected .*, saw .*; limits \[\{"algorithm":"tokenBucket"/,
    );
    const [again] = await failuresOf(onCharges({ cost: () => 1 }), group.traces);
    expect(again).toBe(first);
  });

  it("says which step of a table failed, what was expected and what was seen", async () => {
    const change = onVerdicts({ remaining: (n) => n + 1 });
    const [first] = await failuresOf(change, group.tables);
    expect(first).toBe(
      'store conformance, "the step tables hold: a token bucket admits a burst of its capacity, ' +
        'then its rate": step 0, a cost of 1 at 0: expected remaining 4, saw 5',
    );
  });
});

describe("the cases", () => {
  const createStore = smallStore;
  const cases = storeConformance({ createStore });

  it("have names that differ", () => {
    expect(new Set(cases.map(({ name }) => name)).size).toBe(cases.length);
    expect(new Set(cases.map((c) => c.group))).toEqual(new Set(Object.values(group)));
  });

  it("carry the reason where they are skipped, by group or by name", () => {
    const one = `${group.traces}: quota`;
    const skip = { [group.permits]: "has no permits", [one]: "has no calendar" };
    const skipped = storeConformance({ createStore, skip }).filter((c) => c.skipped !== undefined);
    const permits = cases.filter((c) => c.group === group.permits).map(({ name }) => name);
    expect(skipped.map(({ name, skipped: reason }) => [name, reason])).toEqual([
      [one, "has no calendar"],
      ...permits.map((name) => [name, "has no permits"]),
    ]);
  });

  it("get a store each, and close it even when they fail", async () => {
    let [opened, closed] = [0, 0];
    const close = () => void closed++;
    const counting = () => {
      opened++;
      return { ...forward(smallStore()), close, block: () => {} };
    };
    for (const { run } of casesOf(counting, group.blocks)) await run().catch(() => {});
    expect([opened, closed]).toEqual([
      casesOf(counting, group.blocks).length,
      casesOf(counting, group.blocks).length,
    ]);
  });

  it.each([
    [{ createStore, skip: { "no such claim": "because" } }, 'no group, got "no such claim"'],
    [{ createStore, skip: { [group.keys]: "" } }, `needs a reason for "${group.keys}", got ""`],
    [{ createStore, skip: [] }, "skip must be an object of reasons by name, got []"],
    [{}, "createStore is missing; it must be a function"],
    [{ createStore, traces: 0 }, "traces must be a whole number from 1 to 1000000, got 0"],
    [{ createStore, seed: -1 }, "seed must be a whole number from 0 to 9007199254740991, got -1"],
    [{ createStore, limits: [] }, "limits must be a list of 1 to 100 items, got 0"],
    [{ createStore, limits: ["quotas"] }, 'got "quotas"; did you mean quota?'],
    [undefined, "needs an object of options, got undefined"],
  ])("refuse the options %j", (options, seen) => {
    const make = () => storeConformance(options as Parameters<typeof storeConformance>[0]);
    expect(make).toThrow(SluiceError);
    expect(make).toThrow(seen);
  });
});

type Algorithms = readonly Counter["limit"]["algorithm"][];

function casesOf(createStore: () => Store, inGroup: string, limits?: Algorithms) {
  const some = limits === undefined ? {} : { limits };
  const cases = storeConformance({ createStore, traces: 20, seed: 5, ...some });
  return cases.filter((c) => c.group === inGroup && c.skipped === undefined);
}

async function failuresOf(change: Break, inGroup: string, limits?: Algorithms): Promise<string[]> {
  const createStore = () => {
    const inner = forward(smallStore());
    return { ...inner, ...change(inner) };
  };
  const failures: string[] = [];
  for (const { run } of casesOf(createStore, inGroup, limits)) {
    await run().catch((error: Error) => failures.push(error.message));
  }
  return failures;
}

/** The store without its fast path, so that every charge passes `decide`. */
function forward(inner: Store): Store {
  return {
    decide: (charges, options) => inner.decide(charges, options),
    peek: (charges) => inner.peek(charges),
    debit: (charges) => inner.debit(charges),
    settle: (settlings) => inner.settle(settlings),
    refund: (charges) => inner.refund(charges),
    block: (scope, key, until) => inner.block(scope, key, until),
    unblock: (scope, key) => inner.unblock(scope, key),
    escalate: (reports) => inner.escalate?.(reports) ?? [],
    reset: (charges) => inner.reset(charges),
    close: () => inner.close(),
  };
}

/** An error for any other limit, as of a store that can't hold it. */
function quotasOnly(inner: Store): Store {
  const check = <T extends readonly Charge[]>(charges: T): T => {
    const other = charges.find(({ counter }) => counter.limit.algorithm !== "quota");
    if (other === undefined) return charges;
    throw new Error(`a charge of a ${other.counter.limit.algorithm}`);
  };
  const store = forward(inner);
  return {
    ...store,
    decide: (charges, options) => store.decide(check(charges), options),
    peek: (charges) => store.peek(check(charges)),
    debit: (charges) => store.debit(check(charges)),
    refund: (charges) => store.refund(check(charges)),
    reset: (charges) => store.reset(check(charges)),
  };
}

/** The same answers, some turns of the event loop later. */
function later(inner: Store): Store {
  const wait = async <T>(answer: () => T): Promise<Awaited<T>> => {
    await new Promise((resolve) => setImmediate(resolve));
    return await answer();
  };
  return {
    decide: (charges, options) => wait(() => inner.decide(charges, options)),
    peek: (charges) => wait(() => inner.peek(charges)),
    debit: (charges) => wait(() => inner.debit(charges)),
    settle: (settlings) => wait(() => inner.settle(settlings)),
    refund: (charges) => wait(() => inner.refund(charges)),
    block: (scope, key, until) => wait(() => inner.block(scope, key, until)),
    unblock: (scope, key) => wait(() => inner.unblock(scope, key)),
    escalate: (reports) => wait(() => inner.escalate?.(reports) ?? []),
    reset: (charges) => wait(() => inner.reset(charges)),
    close: () => wait(() => inner.close()),
  };
}

interface ChargeChange {
  key?: (key: string) => string;
  cost?: (cost: number) => number;
  nowMs?: (nowMs: number, charge: Charge) => number;
  counter?: (counter: Counter) => Counter;
  all?: (charge: Charge) => Charge;
}

/** A store that misreads charges, always in the same way. */
function onCharges(change: ChargeChange): Break {
  const misread = (charge: Charge): Charge =>
    (change.all ?? ((same) => same))({
      ...charge,
      key: change.key?.(charge.key) ?? charge.key,
      cost: change.cost?.(charge.cost) ?? charge.cost,
      nowMs: change.nowMs?.(charge.nowMs, charge) ?? charge.nowMs,
      counter: change.counter?.(charge.counter) ?? charge.counter,
    });
  return (inner) => ({
    decide: (charges, options) => inner.decide(charges.map(misread), options),
    peek: (charges) => inner.peek(charges.map(misread)),
    refund: (charges) => inner.refund(charges.map(misread)),
    reset: (charges) => inner.reset(charges.map(misread)),
  });
}

function neverGoesBack(inner: Store): Partial<Store> {
  let latestMs = 0;
  const nowMs = (ms: number) => {
    latestMs = Math.max(latestMs, ms);
    return latestMs;
  };
  return onCharges({ nowMs })(inner);
}

type VerdictChange = { [Field in keyof Verdict]?: (value: Verdict[Field]) => Verdict[Field] };

/** A store that decides correctly and reports it wrong. */
function onVerdicts(change: VerdictChange): Break {
  const misreport = (verdict: Verdict): Verdict => ({
    ...verdict,
    remaining: change.remaining?.(verdict.remaining) ?? verdict.remaining,
    retryAfterMs: change.retryAfterMs?.(verdict.retryAfterMs) ?? verdict.retryAfterMs,
    delayMs: change.delayMs?.(verdict.delayMs) ?? verdict.delayMs,
  });
  return (inner) => ({
    decide: (charges, options) => {
      const outcome = inner.decide(charges, options) as Outcome;
      return { ...outcome, verdicts: outcome.verdicts.map(misreport) };
    },
    peek: (charges) => (inner.peek(charges) as Verdict[]).map(misreport),
  });
}

function toSeconds(waitMs: number): number {
  return Math.ceil(waitMs / 1000) * 1000;
}

function toWellFormed(key: string): string {
  return new TextDecoder().decode(new TextEncoder().encode(key));
}

function stopPermits(nowMs: number, { counter }: Charge): number {
  return counter.limit.algorithm === "concurrency" ? Math.min(nowMs, CLOCK_START_MS) : nowMs;
}

function joinName(charge: Charge): Charge {
  const { counter, key } = charge;
  return { ...charge, counter: { ...counter, scope: "all" }, key: `${counter.scope}:${key}` };
}

function toFirstPart(counter: Counter): Counter {
  return { ...counter, part: 0 };
}

function nameByNumbers(counter: Counter): Counter {
  return { ...counter, scope: `${counter.scope} ${JSON.stringify(counter.limit)}` };
}

function enforce({ shadow: _, ...charge }: Charge): Charge {
  return charge;
}

function chargesOnRefusal(inner: Store): Partial<Store> {
  return {
    decide: (charges, options) => {
      const outcome = inner.decide(charges, options) as Outcome;
      if (!outcome.allowed) inner.decide(charges.map((charge) => ({ ...charge, cost: 1 })));
      return outcome;
    },
  };
}

function chargesOneByOne(inner: Store): Partial<Store> {
  return {
    decide: (charges, options) => {
      const outcomes = charges.map((charge) => inner.decide([charge], options) as Outcome);
      return {
        allowed: outcomes.every(({ allowed }) => allowed),
        verdicts: outcomes.flatMap(({ verdicts }) => verdicts),
        receipts: outcomes.flatMap(({ receipts }) => receipts),
      };
    },
  };
}

function asksThenTakes(inner: Store): Partial<Store> {
  return {
    decide: async (charges, options) => {
      const asked = await inner.peek(charges);
      await Promise.resolve();
      const allowed = asked.every(({ allowed }) => allowed);
      if (!allowed) return { allowed, verdicts: asked, receipts: [] };
      const { receipts } = await inner.decide(charges, options);
      return { allowed, verdicts: asked, receipts };
    },
  };
}

function ignoresRequestIds(inner: Store): Partial<Store> {
  return { decide: (charges) => inner.decide(charges) };
}

function refundsTwice(inner: Store): Partial<Store> {
  return {
    settle: (settlings) => {
      inner.settle(settlings);
      const unused = settlings.map(({ receipt, kept, nowMs }) => {
        const { counter, key, cost } = receipt;
        return { counter, key, cost: Math.max(0, cost - kept), nowMs };
      });
      inner.refund(unused);
    },
  };
}

function takesOnPeek(inner: Store): Partial<Store> {
  return {
    peek: (charges) => {
      const verdicts = inner.peek(charges);
      inner.decide(charges);
      return verdicts;
    },
  };
}

function onDebits(change: ChargeChange): Break {
  const cost = change.cost ?? ((same) => same);
  return (inner) => ({
    debit: (charges) => inner.debit(charges.map((c) => ({ ...c, cost: cost(c.cost) }))),
  });
}

function atLeast1(cost: number): number {
  return Math.max(1, cost);
}

function debitsIfAllowed(inner: Store): Partial<Store> {
  return {
    debit: (charges) => {
      inner.decide(charges);
      return inner.debit(charges.map((charge) => ({ ...charge, cost: 0 })));
    },
  };
}

/** Charges what fits and forgets the rest, but reports all of it. */
function clipsDebt(inner: Store): Partial<Store> {
  return {
    debit: (charges) => {
      const standings = inner.debit(charges) as CounterStatus[];
      for (const [i, { used, limit }] of standings.entries()) {
        if (used > limit) inner.refund([{ ...charges[i], cost: used - limit }]);
      }
      return standings;
    },
  };
}

function reportsUsed(change: (used: number) => number): Break {
  return (inner) => ({
    debit: (charges) =>
      (inner.debit(charges) as CounterStatus[]).map((status) => ({
        ...status,
        used: change(status.used),
      })),
  });
}

function reportsBefore(inner: Store): Partial<Store> {
  return {
    debit: (charges) => {
      const before = inner.debit(charges.map((charge) => ({ ...charge, cost: 0 })));
      inner.debit(charges);
      return before;
    },
  };
}

function reportsBackwards(inner: Store): Partial<Store> {
  return { debit: (charges) => (inner.debit(charges) as CounterStatus[]).toReversed() };
}

function debitsLate(inner: Store): Partial<Store> {
  return {
    debit: async (charges) => {
      const standings = await inner.debit(charges.map((charge) => ({ ...charge, cost: 0 })));
      await Promise.resolve();
      inner.reset(charges);
      const costs = charges.map(({ cost }, i) => Math.ceil(standings[i].used) + cost);
      return inner.debit(charges.map((charge, i) => ({ ...charge, cost: costs[i] })));
    },
  };
}

function holdsWithReceiptsOnly(inner: Store): Partial<Store> {
  return {
    decide: (charges, options = {}) => {
      const outcome = inner.decide(charges, options) as Outcome;
      if (options.hold === "briefly") inner.refund(charges);
      return outcome;
    },
  };
}

function holdsRefusals(inner: Store): Partial<Store> {
  return {
    decide: (charges, options) => {
      const outcome = inner.decide(charges, options) as Outcome;
      const receipts = charges.map((charge) => ({ ...charge, proof: undefined }));
      return outcome.allowed ? outcome : { ...outcome, receipts };
    },
  };
}

function clipsKept(inner: Store): Partial<Store> {
  const clip = (settling: Settling): Settling => {
    const { kept, receipt } = settling;
    return { ...settling, kept: Math.min(kept, receipt.cost) };
  };
  return { settle: (settlings) => inner.settle(settlings.map(clip)) };
}

function holdsFirst(inner: Store): Partial<Store> {
  return {
    decide: (charges, options) => {
      const outcome = inner.decide(charges, options) as Outcome;
      return { ...outcome, receipts: outcome.receipts.slice(0, 1) };
    },
  };
}

function endsBlocksLate(inner: Store): Partial<Store> {
  return {
    block: (scope, key, { untilMs, nowMs }) =>
      inner.block(scope, key, { untilMs: untilMs + 1, nowMs }),
  };
}

function escalatesWithout(inner: Store): Partial<Store> {
  const withoutScopes = (report: RefusalReport) => ({ ...report, blockScopes: [] });
  return { escalate: (reports) => inner.escalate?.(reports.map(withoutScopes)) ?? [] };
}

function blocksFolded(inner: Store): Partial<Store> {
  return { block: (scope, key, until) => inner.block(scope, key.toLowerCase(), until) };
}
