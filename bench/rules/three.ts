// What rules cost over limiters that are written by hand: a request under three rules in memory, over `check` of
// three limiters with the same keys and limits. The policy also finds the rules by path, builds the keys and
// decides all or nothing; the limiters do none of this.

import { createLimiter, fixedWindow, memoryStore } from "sluice";
import { createPolicy, type PolicyDecision, parseRules } from "sluice/rules";
import type { Bench } from "../bench.js";
import { generousBucket } from "../contenders.js";
import { type Comparison, type Contender, collectGarbage, compare } from "../harness.js";
import { RandomIds } from "../random.js";
import { toTimeFinding } from "./time.js";

const CALLERS = 100_000;
const OPERATIONS = 300_000;
/** All requests of a run share it, and must not exhaust it. */
const SHARED = { limit: 1_000_000_000, windowMs: 3_600_000 };

export const three: Bench<Comparison> = {
  id: "rules/three",
  unit: "ratio",
  bound: { is: "at most", bar: 2, goal: 1.3 },
  parts: ["all"],
  runPart: () => compare(policyOfThree(), threeLimiters(), { operations: OPERATIONS }),
  conclude: (parts) => parts.map(toTimeFinding),
};

function policyOfThree(): Contender {
  const rules = parseRules({
    version: 1,
    rules: [
      { id: "per-address", match: { path: "/api/*" }, key: "ip", limit: generousBucket },
      { id: "per-user", match: { path: "/api/users/:id" }, key: "user", limit: generousBucket },
      { id: "all", key: "global", limit: fixedWindow(SHARED) },
    ],
  });
  const policy = createPolicy({ rules });
  const admit = (id: number) =>
    policy.admit({
      method: "GET",
      path: `/api/users/${id}`,
      ip: toAddress(id),
      user: `${id}`,
    }) as PolicyDecision;
  mustMatch(admit(0), rules.rules.length);
  endMarking();
  for (let id = 0; id < CALLERS; id++) admit(id);
  const ids = new RandomIds(CALLERS);
  const run = (operations: number) => {
    let admitted = 0;
    for (let i = 0; i < operations; i++) if (admit(ids.next()).allowed) admitted++;
    return admitted;
  };
  return { name: "sluice policy, three rules in memory", run };
}

function threeLimiters(): Contender {
  // One store, as the policy has: the tables are then as full on both sides.
  const store = memoryStore();
  const perAddress = createLimiter({ limit: generousBucket, store, name: "per-address" });
  const perUser = createLimiter({ limit: generousBucket, store, name: "per-user" });
  const all = createLimiter({ limit: fixedWindow(SHARED), store, name: "all" });
  const check = (id: number) => {
    const isAddressIn = perAddress.check(`ip:${toAddress(id)}`).allowed;
    const isUserIn = perUser.check(`user:${id}`).allowed;
    return all.check("global").allowed && isAddressIn && isUserIn;
  };
  endMarking();
  for (let id = 0; id < CALLERS; id++) check(id);
  const ids = new RandomIds(CALLERS);
  const run = (operations: number) => {
    let admitted = 0;
    for (let i = 0; i < operations; i++) if (check(ids.next())) admitted++;
    return admitted;
  };
  return { name: "three sluice checks in memory", run };
}

/**
 * The tables that were just allocated make V8 start marking. Whatever is stored into another object meanwhile counts as
 * alive, so V8 may make the objects of all further decisions in its old generation, which doubles their time. Without
 * this, one process in four did.
 */
function endMarking(): void {
  collectGarbage();
}

function toAddress(id: number): string {
  return `10.${id >> 16}.${(id >> 8) & 255}.${id & 255}`;
}

/** A policy that matched fewer rules would be fast for nothing. */
export function mustMatch({ results }: PolicyDecision, rules: number): void {
  if (results.length !== rules) throw new Error(`${results.length} rules matched, not ${rules}`);
}
