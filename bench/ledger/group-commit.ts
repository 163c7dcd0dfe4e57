// What group commit brings: strict durable checks by 200 callers over the same checks with a transaction each, which run
// on all connections of the pool: BEGIN, a SELECT that locks, two statements that write, COMMIT.

import type { Store } from "sluice";
import { type Bench, toRatioFinding } from "../bench.js";
import { effort } from "../effort.js";
import { type BenchDatabase, chargeOf, openPostgres, openSqlite, runCallers } from "./databases.js";

const CALLERS = 200;
const ROUNDS = effort({ full: 9, quick: 2 });
const GROUPED = effort({ full: 20_000, quick: 2_000 });
const SINGLE = effort({ full: 1_500, quick: 200 });

interface Rates {
  readonly grouped: readonly number[];
  readonly single: readonly number[];
}

interface Setting {
  readonly id: string;
  readonly bound: { bar: number; goal: number };
  readonly accounts: number;
  readonly open: () => Promise<BenchDatabase>;
  readonly subject: string;
  /** Statements before the rounds of each side. */
  readonly settings?: { readonly grouped: string; readonly single: string };
}

function toBench({ id, bound, accounts, open, subject, settings }: Setting): Bench<Rates> {
  return {
    id,
    unit: "ratio",
    bound: { is: "at least", ...bound },
    parts: ["all"],
    runPart: () => measure(open, accounts, settings),
    conclude: ([{ grouped, single }]) => [
      toRatioFinding({ subject, reference: "one transaction for each check" }, grouped, single),
    ],
  };
}

export const ledgerGroup = toBench({
  id: "ledger/group",
  bound: { bar: 8, goal: 20 },
  accounts: 1_000,
  open: openPostgres,
  subject: "group commit on PostgreSQL, 200 callers, 1,000 accounts",
});

export const ledgerHot = toBench({
  id: "ledger/hot",
  bound: { bar: 20, goal: 50 },
  accounts: 1,
  open: openPostgres,
  subject: "group commit on PostgreSQL, 200 callers, one account",
});

export const ledgerSqlite = toBench({
  id: "ledger/sqlite",
  bound: { bar: 8, goal: 20 },
  accounts: 1_000,
  open: openSqlite,
  subject: "group commit on SQLite, 200 callers, 1,000 accounts",
  // The driver flushes once for all transactions that wait; a transaction for each check flushes for itself.
  settings: { grouped: "PRAGMA synchronous = NORMAL", single: "PRAGMA synchronous = FULL" },
});

async function measure(
  open: () => Promise<BenchDatabase>,
  accounts: number,
  settings: Setting["settings"],
): Promise<Rates> {
  const { database, openStore, end } = await open();
  const set = async (side: "grouped" | "single") => {
    if (settings !== undefined) await database.query(settings[side]);
  };
  const grouped = openStore();
  // A store of its own for each caller shares no transaction with the others. It reads what it decides on.
  const single = Array.from({ length: CALLERS }, () => openStore({ accountsCachedMax: 0 }));
  const runGrouped = (operations: number) =>
    perSecond(operations, async (n) => grouped.decide(chargeOf(n, accounts)));
  const runSingle = (operations: number) =>
    perSecond(operations, async (n) =>
      (single[n % CALLERS] as Store).decide(chargeOf(n, accounts)),
    );
  const rates = { grouped: [] as number[], single: [] as number[] };
  try {
    await runGrouped(GROUPED);
    await runSingle(SINGLE);
    for (let round = 0; round < ROUNDS; round++) {
      await set("grouped");
      rates.grouped.push(await runGrouped(GROUPED));
      await set("single");
      rates.single.push(await runSingle(SINGLE));
    }
    return rates;
  } finally {
    await end();
  }
}

async function perSecond(
  operations: number,
  check: (n: number) => Promise<unknown>,
): Promise<number> {
  const startMs = performance.now();
  await runCallers({ operations, callers: CALLERS }, check);
  return (operations * 1_000) / (performance.now() - startMs);
}
