// A follower as a process of its own, with one policy that enforces what it gets. It writes a line whenever other rules
// are in force: the ids of the rules, and the last change.

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
const report = () => {
  const rules = policy.rules.rules.map(({ id }) => id);
  process.stdout.write(`${JSON.stringify({ rules, sequence: opened.state.sequence })}\n`);
};
opened.onChanged(report);
report();
// Timers of the follower keep no process alive.
setInterval(() => {}, 60_000);
