// A follower as a process of its own, with one policy that enforces what it gets and decides all the time. It writes a line
// whenever other rules are in force: the ids of the rules, the last change, and how many requests were decided so far.

import { memoryStore } from "sluice";
import { createPolicy } from "sluice/rules";
import { openControlNode } from "../../dist/control/control-node.js";
import { EnforcedState } from "../../dist/control/state/enforced-state.js";
import { silentTelemetry } from "../../dist/telemetry/silent-telemetry.js";

const [url, token, snapshotFile, node] = process.argv.slice(2);
const telemetry = silentTelemetry();
const opened = await openControlNode(
  { kind: "follow", url, token, caFile: undefined, snapshotFile, staleMsMax: undefined, node, hasRules: false },
  { telemetry, rules: undefined, onFirstToken: undefined },
);
const store = memoryStore({ keysMax: 1_024 });
const policy = createPolicy({ rules: { version: 1, rules: [] }, store });
new EnforcedState({ source: opened, policies: [policy], telemetry });
let [decided, undecided] = [0, 0];
const report = () => {
  const rules = policy.rules.rules.map(({ id }) => id);
  const { sequence } = opened.state;
  process.stdout.write(`${JSON.stringify({ rules, sequence, decided, undecided })}\n`);
};
opened.onChanged(report);
report();
async function decide(n) {
  try {
    const { allowed } = await policy.admit({ method: "GET", path: "/", ip: `10.0.0.${n % 250}` });
    if (typeof allowed === "boolean") decided++;
    else undecided++;
  } catch {
    undecided++;
  }
}
// Timers of the follower keep no process alive; this one does.
setInterval(() => {
  for (let n = 0; n < 20; n++) void decide(n);
}, 10);
