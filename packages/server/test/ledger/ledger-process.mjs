// A process that charges a ledger. It takes messages from its parent, and answers each with its id:
// `{ id, charge: { key, cost, requestId } }` with `allowed`, `{ id, race: key }` with how many units two writers got
// before they were refused, and `{ id, spend: { tenant, requests } }` with how many requests were admitted out of leases.

import { quota } from "sluice";
import { createPolicy } from "sluice/rules";
import { AdmissionReporter } from "../../dist/ledger/admissions/admission-reporter.js";
import { openDatabase } from "../../dist/database/open-database.js";
import { LedgerStore } from "../../dist/ledger/ledger-store.js";

const [url, actor] = process.argv.slice(2);
const counter = { scope: "exports", part: 0, limit: quota({ limit: 1_000_000, period: "month" }) };
const few = { scope: "races", part: 0, limit: quota({ limit: 100, period: "month" }) };
const clock = { now: () => Date.now() };
const writers = [1, 2].map(
  (n) => new LedgerStore(openDatabase(url, "/"), { actor: `${actor}-${n}`, clock, retryMsMax: 20_000 }),
);

async function race(key) {
  const got = writers.map(async (writer) => {
    for (let units = 0; ; units++) {
      const charges = [{ counter: few, key, cost: 1, nowMs: clock.now() }];
      const [{ allowed }] = await Promise.all([writer.decide(charges)]);
      if (!allowed) return units;
    }
  });
  return (await Promise.all(got)).reduce((sum, units) => sum + units);
}

async function charge({ key, cost, requestId }) {
  const charges = [{ counter, key, cost, nowMs: clock.now() }];
  return (await writers[0].decide(charges, { requestId })).allowed;
}

const leasedRule = {
  id: "leased",
  key: "tenant",
  limit: { quota: { limit: 1_000, period: "month" } },
  durable: true,
  consistency: "leased",
  timeoutMs: 30_000,
};
const reporter = new AdmissionReporter({ actor: `${actor}-1`, clock, reportMs: 0 });
reporter.open(openDatabase(url, "/"));
const policy = createPolicy({
  rules: { version: 1, rules: [leasedRule] },
  durableStore: writers[0],
  admissions: reporter.meter,
  clock,
});

async function spend({ tenant, requests }) {
  let admitted = 0;
  for (let i = 0; i < requests; i++) {
    const { allowed } = await policy.admit({ method: "POST", path: "/", tenant });
    if (allowed) admitted++;
    // The last ones are never reported.
    if (i === requests - 11) await reporter.report();
  }
  return admitted;
}

process.on("message", async ({ id, charge: asked, race: key, spend: spent }) => {
  try {
    const answer = spent ? spend(spent) : asked ? charge(asked) : race(key);
    process.send({ id, answer: await answer });
  } catch (error) {
    process.send({ id, error: error.message });
  }
});
process.on("disconnect", () => process.exit());
process.send({ id: 0, answer: "ready" });
