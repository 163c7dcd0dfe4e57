// What a strict durable check waits: its p99 at 1,000 checks a second, over the p99 of a bare INSERT of one row at the
// same pace on the same PostgreSQL. Both in turns, and each is first in every other round: whatever a server does after
// the one, such as writing a checkpoint, falls on both.

import { type Bench, toRatioFinding } from "../bench.js";
import { effort } from "../effort.js";
import { chargeOf, openPostgres } from "./databases.js";

const PER_SECOND = 1_000;
// Many short rounds: one that something else disturbed is left out of the confidence interval.
const ROUNDS = effort({ full: 36, quick: 2 });
const ROUND_MS = effort({ full: 1_000, quick: 500 });
const ACCOUNTS = 1_000;
const INSERT = "INSERT INTO bench_rows (id, body) VALUES ($1, $2)";

interface Waits {
  /** p99 of each round, in milliseconds. */
  readonly checks: readonly number[];
  readonly inserts: readonly number[];
}

export const ledgerLatency: Bench<Waits> = {
  id: "ledger/latency",
  unit: "ratio",
  bound: { is: "at most", bar: 2, goal: 1.3 },
  parts: ["all"],
  runPart: measure,
  conclude: ([{ checks, inserts }]) => {
    const { value, spread, ratio } = toRatioFinding({ subject: "" }, checks, inserts);
    const note = `p99 ${middle(checks).toFixed(2)} and ${middle(inserts).toFixed(2)} ms`;
    const subject = "strict durable check at 1,000/s, p99";
    const finding = { subject, reference: "a bare INSERT, p99", value, note };
    return [{ ...finding, ...(spread && { spread }), ...(ratio !== undefined && { ratio }) }];
  },
};

async function measure(): Promise<Waits> {
  const { database, openStore, end } = await openPostgres();
  await database.query("CREATE TABLE bench_rows (id BIGINT PRIMARY KEY, body TEXT)");
  const store = openStore();
  let rows = 0;
  const insert = () => database.query(INSERT, [++rows, "one row"]);
  const check = async (n: number) => store.decide(chargeOf(n, ACCOUNTS));
  const waits = { checks: [] as number[], inserts: [] as number[] };
  try {
    await pace(check);
    await pace(insert);
    for (let round = 0; round < ROUNDS; round++) {
      const isCheckFirst = round % 2 === 0;
      if (isCheckFirst) waits.checks.push(await pace(check));
      waits.inserts.push(await pace(insert));
      if (!isCheckFirst) waits.checks.push(await pace(check));
    }
    return waits;
  } finally {
    await end();
  }
}

/** Starts operations at a steady pace, however long they take, and returns the p99 of their times. */
async function pace(operation: (n: number) => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  const running: Promise<void>[] = [];
  const startMs = performance.now();
  const count = (ROUND_MS * PER_SECOND) / 1_000;
  for (let n = 0; n < count; ) {
    const due = Math.min(count, ((performance.now() - startMs) * PER_SECOND) / 1_000);
    for (; n < due; n++) {
      const atMs = performance.now();
      running.push(operation(n).then(() => void times.push(performance.now() - atMs)));
    }
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await Promise.all(running);
  times.sort((a, b) => a - b);
  return times[Math.floor(times.length * 0.99)] as number;
}

function middle(figures: readonly number[]): number {
  return figures.toSorted((a, b) => a - b)[Math.floor(figures.length / 2)] as number;
}
