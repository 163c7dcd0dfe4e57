// A process that charges a ledger. It takes messages from its parent, and answers each with its id:
// `{ id, charge: { key, cost, requestId } }` with `allowed`, and `{ id, race: key }` with how many units two writers got
// before they were refused.

import { quota } from "sluice";
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

process.on("message", async ({ id, charge: asked, race: key }) => {
  try {
    process.send({ id, answer: asked === undefined ? await race(key) : await charge(asked) });
  } catch (error) {
    process.send({ id, error: error.message });
  }
});
process.on("disconnect", () => process.exit());
process.send({ id: 0, answer: "ready" });
