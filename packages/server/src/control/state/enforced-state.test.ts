import { memoryStore } from "sluice";
import { createPolicy } from "sluice/rules";
import { afterEach, expect, it, vi } from "vitest";
import { silentTelemetry } from "../../telemetry/silent-telemetry.js";
import type { EntityKind } from "../entities/entities.js";
import { EnforcedState } from "./enforced-state.js";
import { ControlState, type OnChanged } from "./state.js";

const policy = createPolicy({ rules: { version: 1, rules: [] }, store: memoryStore() });
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
