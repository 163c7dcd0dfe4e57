import { type Clock, quota, SluiceError } from "sluice";
import { storeConformance } from "sluice/testing";
import { afterAll, describe, expect, it } from "vitest";
import { testDatabases } from "../../test/control/databases.js";
import { LedgerStore } from "./ledger-store.js";

const all = testDatabases();

afterAll(() => Promise.all(all.map((databases) => databases.stop())));

describe.each(all)("a ledger in $name", (databases) => {
  const createStore = async (clock: Clock) =>
    new LedgerStore(await databases.ready(), { actor: "node-1", clock, sweepMs: 0 });
  for (const { name, skipped, run } of storeConformance({
    createStore,
    limits: ["quota"],
    traces: 20,
  })) {
    if (skipped === undefined) it(name, run);
  }
});

void quota;
void SluiceError;
void expect;
