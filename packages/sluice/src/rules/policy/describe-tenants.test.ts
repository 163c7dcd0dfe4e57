import { expect, it } from "vitest";
import { ManualClock } from "../../testing/testing.js";
import { withExceptions } from "../exceptions.js";
import { parseRules } from "../parse/parse.js";
import { createPolicy } from "./create-policy.js";

const RULES = parseRules({
  version: 1,
  rules: [
    { id: "all", key: "tenant", limit: "1/hour", tiers: { gold: "2/hour" } },
    { id: "eu", key: "tenant", limit: "9/hour", match: { attributes: { region: "eu" } } },
  ],
});
const PRO = { ruleId: "all", by: "plan", value: "pro", limits: "3/hour" } as const;

function start() {
  const policy = createPolicy({ rules: withExceptions(RULES, [PRO]), clock: new ManualClock(0) });
  policy.describeTenants((tenant) => {
    if (tenant === "acme") return { plan: "pro", tier: "gold", attributes: { region: "eu" } };
    return tenant === "small" ? { tier: "gold" } : undefined;
  });
  const standOf = async (caller: object) => {
    const { results } = await policy.peek({ method: "GET", path: "/", ...caller });
    return results.map(({ rule, verdict }) => [rule, verdict.limit]);
  };
  return { policy, standOf };
}

it("gives a request that names its tenant the plan, the tier and the attributes of the tenant", async () => {
  const { standOf } = start();
  expect(await standOf({ tenant: "acme" })).toEqual([
    ["all", 3],
    ["eu", 9],
  ]);
  expect(await standOf({ tenant: "small" })).toEqual([["all", 2]]);
  expect(await standOf({ tenant: "unknown" })).toEqual([["all", 1]]);
});

it("trusts the tenant's tier and attributes over those that the request brought along", async () => {
  const { standOf } = start();
  expect(await standOf({ tenant: "small", tier: "platinum" })).toEqual([["all", 2]]);
  expect(await standOf({ tenant: "acme", attributes: { region: "us" } })).toContainEqual(["eu", 9]);
});

it("leaves facts that have a plan as they are: an API key brought everything along", async () => {
  const { standOf } = start();
  expect(await standOf({ tenant: "acme", plan: "other" })).toEqual([["all", 1]]);
});

it("does not look up the tenant of an API key that is known to have no plan", async () => {
  const { policy, standOf } = start();
  const asked: string[] = [];
  policy.describeTenants((tenant) => {
    asked.push(tenant);
    return { tier: "gold" };
  });
  expect(await standOf({ tenant: "small", plan: null })).toEqual([["all", 1]]);
  expect(asked).toEqual([]);
  expect(await standOf({ tenant: "small" })).toEqual([["all", 2]]);
  expect(asked).toEqual(["small"]);
});

it("completes the facts when the caller is identified", async () => {
  const { policy } = start();
  const request = { method: "GET", path: "/" };
  const identify = () => ({ ...request, tenant: "acme" });
  const { results } = await policy.admit(request, { identify });
  expect(results.map(({ rule, verdict }) => [rule, verdict.limit])).toEqual([
    ["all", 3],
    ["eu", 9],
  ]);
});

it("ends with undefined", async () => {
  const { policy, standOf } = start();
  policy.describeTenants(undefined);
  expect(await standOf({ tenant: "acme" })).toEqual([["all", 1]]);
});
