import { expect, it } from "vitest";
import type { EntityBody, EntityKind } from "../changes/entity.js";
import { blockedSubjectsOf, exceptionsOf, switchesOf } from "./policy-inputs.js";
import { ControlState } from "./state.js";

function stateOf(...entities: [EntityKind, string, EntityBody][]): ControlState {
  return new ControlState({
    sequence: entities.length,
    entities: entities.map(([kind, id, body], i) => ({ kind, id, body, sequence: i + 1 })),
  });
}

it("enforces nothing before anything is written", () => {
  const state = stateOf();
  expect(exceptionsOf(state)).toEqual([]);
  expect(blockedSubjectsOf(state)).toEqual([]);
  expect(switchesOf(state)).toEqual({ all: "on", rules: [] });
});

it("makes exceptions of overrides, the oldest first, and of the limits of plans", () => {
  const override = { subject: "tenant:acme", rule: "search", reason: "a test" };
  const state = stateOf(
    ["plan", "pro", { tier: "gold", limits: { search: "50/minute", export: "unlimited" } }],
    ["override", "z", { ...override, limit: "1/second", endsAtMs: 5 }],
    ["override", "a", { ...override, subject: "apiKey:k1", limit: "2/second" }],
  );
  expect(exceptionsOf(state)).toEqual([
    { ruleId: "search", by: "tenant", value: "acme", limits: "1/second", endsAtMs: 5 },
    { ruleId: "search", by: "apiKey", value: "k1", limits: "2/second", endsAtMs: undefined },
    { ruleId: "search", by: "plan", value: "pro", limits: "50/minute" },
    { ruleId: "export", by: "plan", value: "pro", limits: "unlimited" },
  ]);
});

it("blocks what operators blocked, and suspended tenants", () => {
  const state = stateOf(
    ["block", "b", { subjects: ["ip:10.0.0.0/8", "user:42"], endsAtMs: 9, reason: "abuse" }],
    ["tenant", "acme", { status: "suspended" }],
    ["tenant", "good", { status: "active" }],
  );
  expect(blockedSubjectsOf(state)).toEqual([
    { subject: "ip:10.0.0.0/8", endsAtMs: 9, reason: "abuse" },
    { subject: "user:42", endsAtMs: 9, reason: "abuse" },
    { subject: "tenant:acme", endsAtMs: undefined, reason: "the tenant is suspended" },
  ]);
});

it("switches single rules and all of them", () => {
  const state = stateOf(
    ["switch", "*", { state: "off", reason: "a test" }],
    ["switch", "search", { state: "deny", reason: "a test" }],
  );
  expect(switchesOf(state)).toEqual({ all: "off", rules: [{ rule: "search", state: "deny" }] });
});
