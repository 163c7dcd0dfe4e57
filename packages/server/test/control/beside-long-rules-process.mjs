// Long rules are read in threads. This writes what is ready, in its order: first of rules that are validated and one set
// that is to come into force, then of a node that gets long rules, a reload, an override and a switch, and last
// rules that can't be read.

import { memoryStore } from "sluice";
import { createPolicy } from "sluice/rules";
import { EnforcedState } from "../../dist/control/state/enforced-state.js";
import { ControlState } from "../../dist/control/state/state.js";
import { checkRules, readAhead } from "../../dist/core/rules/known-rules.js";
import { silentTelemetry } from "../../dist/telemetry/silent-telemetry.js";

const rule = (n) => `  - { id: rule-${n}, match: { path: /v1/resource-${n}/* }, key: ip, limit: 1000/minute }\n`;
const toText = (length) =>
  `version: 1\nrules:\n${Array.from({ length }, (_, n) => rule(n)).join("")}  - { id: all, key: tenant, limit: 5/minute }\n`;
const order = [];
const note = (what) => () => order.push(what);

const viewing = [1, 2, 3].map(() => checkRules(toText(3_000), undefined).then(note("validated")));
await readAhead({ file: "rule set 2", text: toText(300) }).then(note("published"));
await Promise.all(viewing);

const policy = createPolicy({ rules: { version: 1, rules: [] }, store: memoryStore() });
const state = new ControlState();
let notify;
const source = {
  state,
  onChanged: (listener) => {
    notify = listener;
    return () => {};
  },
};
const errors = [];
const telemetry = { ...silentTelemetry(), reloaded: (_, error) => error && errors.push(error) };
const enforced = new EnforcedState({ source, policies: [policy], telemetry });
let sequence = 0;
const change = (...edits) =>
  notify(state.apply(edits.map(([kind, entityId, after]) => ({ sequence: ++sequence, kind, entityId, after }))));
const toRuleSet = (text, status = "published") => ({ status, text, note: "", basedOn: 0 });
const first = toText(600);
await change(["rule-set", "0000000001", toRuleSet(first)]);
const facts = { method: "GET", path: "/", ip: "203.0.113.7", tenant: "acme" };
const limit = async () => (await policy.peek(facts)).limit;
const before = await limit();
const reading = change(
  ["rule-set", "0000000001", toRuleSet(first, "superseded")],
  ["rule-set", "0000000002", toRuleSet(toText(6_000))],
).then(note("long rules"));
const reloading = enforced.reload();
const override = { rule: "all", subject: "tenant:acme", limit: "9/minute", reason: "", endsAtMs: undefined };
change(["override", "o1", override]);
await change(["switch", "rule-1", { state: "off", reason: "" }]);
order.push("switch");
const meanwhile = { rules: policy.rules.rules.length, off: policy.switches.rules, limit: await limit() };
await Promise.all([reading, reloading]);
const after = { rules: policy.rules.rules.length, off: policy.switches.rules, limit: await limit() };

// Rules that can't be read are read once, in the thread: their error is the same each time.
await change(
  ["rule-set", "0000000002", undefined],
  ["rule-set", "0000000003", toRuleSet(`${toText(6_000)}  - { id: last, key: ip, limit: many }\n`)],
);
const reports = errors.length;
await change(["switch", "*", { state: "deny", reason: "" }]);
const refused = await enforced.reload().catch((error) => error);
const unreadable = { reports, errors: new Set([...errors, refused]).size, all: policy.switches.all };
console.log(JSON.stringify({ order, before, meanwhile, after, unreadable }));
