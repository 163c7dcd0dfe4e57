import { afterEach, expect, it } from "vitest";
import { toTestConfig } from "../../../../test/test-config.js";
import type { DecisionConfig } from "../../../config/config.js";
import { createCore, type OwnedCore } from "../../../core/create-core.js";
import { silentTelemetry } from "../../../telemetry/silent-telemetry.js";
import { check, peek } from "./counter-verbs.js";

const FACTS = { method: "GET", path: "/", ip: "203.0.113.77" };
const DECISION: DecisionConfig = {
  listen: { host: "127.0.0.1", port: 0 },
  tokens: [],
  forwardAuth: true,
  bodyBytesMax: 1_024,
};

let core: OwnedCore | undefined;
afterEach(() => core?.close());

it.each([
  ["with", DECISION],
  ["without", undefined],
])("a check is reported once, %s the decision API, and a peek not at all", async (_, decision) => {
  const telemetry = silentTelemetry();
  const reported: unknown[] = [];
  telemetry.decided = (of, { allowed }, { path }) => void reported.push([of, allowed, path]);
  core = createCore(toTestConfig({ decision }), { telemetry });
  for (let i = 0; i < 11; i++) await check(core, { facts: FACTS });
  await peek(core, { facts: FACTS });
  const times = (count: number, allowed: boolean) =>
    Array.from({ length: count }, () => ["decision", allowed, FACTS.path]);
  expect(reported).toEqual([...times(10, true), ...times(1, false)]);
});
