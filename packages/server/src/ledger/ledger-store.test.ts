import type { Clock } from "sluice";
import { type ConformanceCase, storeConformance } from "sluice/testing";
import { afterAll, describe, it } from "vitest";
import { testDatabases } from "../../test/control/databases.js";
import { emptiedDatabase } from "../../test/ledger/emptied.js";
import { LedgerStore } from "./ledger-store.js";

const all = testDatabases();

/** What a ledger does not promise. */
const skip = {
  "a requestId makes a request count once: with another key it is an error":
    "an idempotency key belongs to its account: other tenants may use the same one",
  "random traces are answered as the pure functions answer them":
    "a commit after its period has ended is charged to that period, not to the next; ledger.property.test.ts has traces",
  "random traces on a clock that steps back are answered as by the pure functions":
    "each period has its own account: a clock that steps back meets what was used there",
};

afterAll(() => Promise.all(all.map((databases) => databases.stop())));

describe.each(all)("a ledger in $name", (databases) => {
  const ready = emptiedDatabase(databases);
  const createStore = async (clock: Clock) =>
    new LedgerStore(await ready(), { actor: "node-1", clock, sweepMs: 0 });
  const cases = storeConformance({ createStore, limits: ["quota"], skip, traces: 20 });
  const isAboutOthers = ({ skipped }: ConformanceCase) => skipped?.startsWith("the store holds");
  const others = cases.filter(isAboutOthers);
  // A case that is skipped is reported with its reason.
  for (const { name, skipped, run } of cases.filter((each) => !isAboutOthers(each))) {
    it(name, (context) => (skipped === undefined ? run() : context.skip(skipped)));
  }
  it(`${others.length} cases about other limits`, (context) => context.skip(others[0]?.skipped));
});
