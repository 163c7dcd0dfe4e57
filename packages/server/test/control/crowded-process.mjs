// A control node that decides, first alone and then with followers and a publish a second. It writes what these cost: the
// processor time that they take of each second, beyond what the decisions take. By the clock, and in decisions, a process
// that gets little of a busy machine would seem to be slowed down by them.

import { join } from "node:path";
import { startService, toConfig } from "../../dist/index.js";

const [folder, token, followers, database] = process.argv.slice(2);
const ROUND_MS = 1_000;
const CHANGE_MS = 1_000;
const ROUNDS = 3;
const BATCH = 200;
const rulesText = (name) => JSON.stringify({
  version: 1,
  rules: Array.from({ length: 100 }, (_, n) => ({
    id: n === 0 ? name : `rule-${n}`,
    match: { path: `/v1/resource-${n}/*` },
    key: "ip",
    limit: "1000/minute",
  })),
});
const service = await startService(
  toConfig(
    {
      decision: { listen: "127.0.0.1:0" },
      admin: { listen: "127.0.0.1:0", token },
      control: { database },
      telemetry: { logLevel: "silent" },
      rules: JSON.parse(rulesText("first")),
    },
    { file: join(folder, "sluice.yaml") },
  ),
);
const { plane, feedServer } = service.control;

let changes = 0;
const by = () => ({ id: `change-${++changes}`, actor: "test", origin: "local", reason: "a test" });
async function publish() {
  const { number } = await plane.ruleSets.createDraft(by(), rulesText(`first-${changes}`));
  const expected = (await plane.ruleSets.published())?.number ?? 0;
  await plane.ruleSets.publish(by(), { number, note: "", expected });
}

const ranMs = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
};

async function decide(isChanging) {
  const [startMs, startRanMs] = [performance.now(), ranMs()];
  let [count, lastMs, changeAtMs] = [0, startMs, isChanging ? startMs : Infinity];
  while (lastMs - startMs < ROUND_MS) {
    if (lastMs >= changeAtMs) {
      changeAtMs += CHANGE_MS;
      void publish();
    }
    for (let n = 0; n < BATCH; n++, count++) {
      const path = `/v1/resource-${count % 100}/a`;
      await service.core.policy.admit({ method: "GET", path, ip: `10.0.0.${count % 250}` });
    }
    await new Promise((resolve) => setImmediate(resolve));
    lastMs = performance.now();
  }
  return { count, tookMs: lastMs - startMs, ranMs: ranMs() - startRanMs };
}

const say = (value) => console.log(JSON.stringify(value));
// The first round brings the code into shape.
await decide(true);
const alone = await decide(false);
const decisionMs = alone.ranMs / alone.count;
say({ port: Number(new URL(service.listeners.find(({ name }) => name === "admin").url).port) });
while (feedServer.streams.count < Number(followers)) await new Promise((resolve) => setTimeout(resolve, 50));
const costs = [];
for (let round = 0; round < ROUNDS; round++) {
  const { count, tookMs, ranMs } = await decide(true);
  costs.push((ranMs - count * decisionMs) / tookMs);
}
say({ costs, followers: feedServer.streams.count });
process.exit(0);
