import { memoryStore } from "sluice";
import { createPolicy, type Policy } from "sluice/rules";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { silentTelemetry } from "../../telemetry/silent-telemetry.js";
import type { EntityKind } from "../changes/entity.js";
import { EnforcedState } from "./enforced-state.js";
import { ControlState, type OnChanged } from "./state.js";

let policy: Policy;
beforeEach(() => {
  policy = createPolicy({ rules: { version: 1, rules: [] }, store: memoryStore() });
});
afterEach(() => policy.close());

it("makes the list of blocks again only for tenants that are suspended, or no longer", async () => {
  const state = new ControlState();
  let notify: OnChanged = () => {};
  const onChanged = (listener: OnChanged) => {
    notify = listener;
    return () => {};
  };
  const telemetry = silentTelemetry();
  const enforced = new EnforcedState({
    source: { state, onChanged },
    policies: [policy],
    telemetry,
  });
  const blockCallers = vi.spyOn(policy, "blockCallers");
  let sequence = 0;
  const write = async (kind: EntityKind, after: object | undefined) => {
    blockCallers.mockClear();
    notify(state.apply([{ sequence: ++sequence, kind, entityId: "acme", after: after as never }]));
    const { reason } = await policy.peek({ method: "GET", path: "/", tenant: "acme" });
    return [blockCallers.mock.calls.length, reason];
  };
  const admitted = (await policy.peek({ method: "GET", path: "/" })).reason;
  expect(await write("tenant", { status: "active" })).toEqual([0, admitted]);
  expect(await write("tenant", { status: "suspended" })).toEqual([1, "blocked"]);
  expect(await write("tenant", { status: "suspended", name: "Acme" })).toEqual([0, "blocked"]);
  expect(await write("tenant", { status: "active" })).toEqual([1, admitted]);
  expect(await write("block", { subjects: ["tenant:acme"], reason: "x" })).toEqual([1, "blocked"]);
  expect(await write("tenant", undefined)).toEqual([0, "blocked"]);
  expect(await write("block", undefined)).toEqual([1, admitted]);
  enforced.close();
});

describe("with so many rules that they come into force in slices", () => {
  const rule = (id: string, rest: string) => `  - { id: ${id}, key: ip, limit: ${rest} }\n`;
  const toText = (limit: string, more = "") => {
    const rules = Array.from({ length: 600 }, (_, n) => rule(`rule-${n}`, limit));
    return `version: 1\nrules:\n${rules.join("")}${more}`;
  };
  const facts = { method: "GET", path: "/", ip: "203.0.113.7" };

  /** A node that enforces, and what it is changed by. */
  function stand() {
    const state = new ControlState();
    let notify: OnChanged = () => {};
    const onChanged = (listener: OnChanged) => {
      notify = listener;
      return () => {};
    };
    const telemetry = silentTelemetry();
    const reloaded = vi.spyOn(telemetry, "reloaded");
    const enforced = new EnforcedState({
      source: { state, onChanged },
      policies: [policy],
      telemetry,
    });
    let sequence = 0;
    const toEdit = (kind: EntityKind, entityId: string, after: object | undefined) => ({
      sequence: ++sequence,
      kind,
      entityId,
      after: after as never,
    });
    type Edit = Parameters<typeof toEdit>;
    const changeAll = (edits: readonly Edit[]) =>
      notify(state.apply(edits.map((edit) => toEdit(...edit))));
    const change = (...edit: Edit) => changeAll([edit]);
    let latest = 0;
    const toId = (number: number) => String(number).padStart(10, "0");
    const publish = (text: string) => {
      state.apply([toEdit("rule-set", toId(latest), undefined)]);
      const published = { status: "published", text, note: "", basedOn: 0 };
      return change("rule-set", toId(++latest), published);
    };
    return { enforced, change, changeAll, publish, reloaded };
  }

  it.each([
    [
      "a policy can't use",
      toText("9/minute", rule("paid", "{ quota: { limit: 9, period: day } }, durable: true")),
    ],
    ["can't be read", toText("9/minute", rule("paid", "many"))],
  ])("switches take effect on the rules in force after a publish that %s", async (_, unusable) => {
    const { enforced, change, publish, reloaded } = stand();
    const reason = async () => (await policy.peek(facts)).reason;
    await publish(toText("5/minute"));
    const [version, admitted] = [policy.version, await reason()];
    await publish(unusable);
    expect(reloaded).toHaveBeenLastCalledWith("rules", expect.any(Error));
    await change("switch", "*", { state: "deny", reason: "" });
    expect([policy.switches.all, await reason()]).toEqual(["deny", "denied"]);
    await change("switch", "*", undefined);
    expect([policy.switches.all, await reason()]).toEqual(["on", admitted]);
    await change("switch", "rule-1", { state: "off", reason: "" });
    expect(policy.switches.rules).toEqual([{ rule: "rule-1", state: "off" }]);
    expect(policy.version).toBe(version);
    await expect(async () => enforced.reload()).rejects.toThrow();
    await publish(toText("7/minute"));
    expect((await policy.peek(facts)).limit).toBe(7);
    expect(policy.switches.rules).toEqual([{ rule: "rule-1", state: "off" }]);
    await enforced.reload();
    enforced.close();
  });

  it("a reload while rules are published compiles in slices too", async () => {
    const { enforced, publish } = stand();
    await publish(toText("5/minute"));
    const { version } = policy;
    const publishing = publish(toText("7/minute"));
    const reloading = enforced.reload();
    expect(policy.version).toBe(version);
    await reloading;
    expect((await policy.peek(facts)).limit).toBe(7);
    await publishing;
    enforced.close();
  });

  it("rules that can't be used are compiled once, however many switches follow", async () => {
    const { enforced, change, publish } = stand();
    await publish(toText("5/minute"));
    const inForce = policy.rules;
    const prepare = vi.spyOn(policy, "prepare");
    await publish(
      toText("9/minute", rule("paid", "{ quota: { limit: 9, period: day } }, durable: true")),
    );
    expect(prepare.mock.calls.map(([rules]) => rules === inForce)).toEqual([false]);
    prepare.mockClear();
    await change("switch", "*", { state: "deny", reason: "" });
    await change("switch", "*", undefined);
    expect(prepare.mock.calls.map(([rules]) => rules === inForce)).toEqual([true, true]);
    // A reload tries them again: what the policy can use may have changed.
    prepare.mockClear();
    await expect(enforced.reload()).rejects.toThrow(/needs a database/);
    expect(prepare).toHaveBeenCalledTimes(1);
    enforced.close();
  });

  it("thousands of overrides of one rule come into force in slices, and switches with them", async () => {
    const { enforced, change, changeAll, publish } = stand();
    await publish("version: 1\nrules: [{ id: api, key: tenant, limit: 5/minute }]\n");
    const toOverride = (n: number, limit: string) => {
      const body = { subject: `tenant:t${n}`, rule: "api", limit, reason: "" };
      return ["override", `o${n}`, body] as [EntityKind, string, object];
    };
    const limitOf = async (tenant: string) => {
      return (await policy.peek({ method: "GET", path: "/", tenant })).limit;
    };
    changeAll(Array.from({ length: 999 }, (_, n) => toOverride(n, "6/minute")));
    // So few are in force before the next step.
    expect(await limitOf("t998")).toBe(6);
    const last = change(...toOverride(999, "7/minute"));
    expect(await limitOf("t999")).toBe(5);
    await last;
    expect([await limitOf("t998"), await limitOf("t999")]).toEqual([6, 7]);
    const { version } = policy;
    await change("switch", "api", { state: "deny", reason: "" });
    const { reason } = await policy.peek({ method: "GET", path: "/", tenant: "t1" });
    expect([reason, policy.version]).toEqual(["denied", version]);
    enforced.close();
  });
});
