// Durable checks out of leases: units debited from the ledger and spent in this process, over the check of a limit that
// is in memory only, with the loop of `redis/leased`.

import { createLimiter, leased, quota, resilient } from "sluice";
import { type Bench, type Finding, toFinding, toPercent } from "../bench.js";
import { type Comparison, type Contender, compare } from "../harness.js";
import { RandomIds, toKey } from "../random.js";
import { runTurns } from "../redis/callers.js";
import { PATIENT } from "../redis/contenders.js";
import { openPostgres } from "./databases.js";

// While the other side runs, all leases end. A round is long enough that taking them again does not count.
const OPERATIONS = 4_000_000;
const ROUNDS = 15;
const KEYS = 100;
const limit = quota({ limit: 1e12, period: "month" });

/** A comparison, and which share of the subject's decisions came out of a lease. */
interface Race {
  readonly comparison: Comparison;
  readonly leasedShare: number;
}

export const ledgerLeased: Bench<Race> = {
  id: "ledger/leased",
  unit: "ratio",
  bound: { is: "at least", bar: 0.5, goal: 0.9 },
  parts: ["all"],
  runPart: measure,
  conclude: ([{ comparison, leasedShare }]): Finding[] => {
    const speed = toFinding(comparison);
    return [{ ...speed, note: `${speed.note}; ${toPercent(leasedShare)} decided out of leases` }];
  },
};

async function measure(): Promise<Race> {
  const { openStore, end } = await openPostgres();
  const ledger = openStore();
  const store = leased(resilient(ledger, PATIENT));
  try {
    const durable = createLimiter({ limit, store });
    const memory = createLimiter({ limit });
    const subject = traffic(`leased durable check, ${KEYS} busy keys`, durable);
    const comparison = await compare(subject, traffic("memory check", memory), {
      operations: OPERATIONS,
      rounds: ROUNDS,
    });
    const { leasedDecisions, strictDecisions } = store.stats;
    return { comparison, leasedShare: leasedDecisions / (leasedDecisions + strictDecisions) };
  } finally {
    await store.close();
    await ledger.close();
    await end();
  }
}

function traffic(name: string, limiter: Parameters<typeof runTurns>[0]): Contender {
  const ids = new RandomIds(KEYS);
  const nextKey = () => toKey(ids.next());
  return { name, run: (operations) => runTurns(limiter, operations, nextKey) };
}
