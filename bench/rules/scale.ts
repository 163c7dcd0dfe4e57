// Whether a policy stays fast with many rules: a decision under 10,000 rules over one under 10. The paths are
// those of a large API: static, with parameters and with wildcards. Requests are spread over all of them, and
// three rules match each request in both. Both have the same number of callers, each with its own service, and so
// the same number of counters.

import { createPolicy, type Policy, type PolicyDecision, parseRules } from "sluice/rules";
import type { Bench } from "../bench.js";
import { generousBucket } from "../contenders.js";
import { type Comparison, type Contender, compare } from "../harness.js";
import { RandomIds } from "../random.js";
import { mustMatch } from "./three.js";
import { toTimeFinding } from "./time.js";

const FEW = 10;
const MANY = 10_000;
/** Each service has three rules, and one of all services counts all callers. */
const RULES_PER_SERVICE = 3;
const MATCHING = 3;
const CALLERS = 10_000;
const OPERATIONS = 200_000;

export const scale: Bench<Comparison> = {
  id: "rules/scale",
  unit: "ratio",
  bound: { is: "at most", bar: 2, goal: 1.2 },
  parts: ["all"],
  runPart: () => compare(policyOf(MANY), policyOf(FEW), { operations: OPERATIONS }),
  conclude: (parts) => parts.map(toTimeFinding),
};

function policyOf(rules: number): Contender {
  const services = Math.floor((rules - 1) / RULES_PER_SERVICE);
  const written = Array.from({ length: services }, (_, i) => toRules(i)).flat();
  const everybody = { id: "everybody", key: "ip", limit: generousBucket };
  const policy = createPolicy({
    rules: parseRules({ version: 1, rules: [...written, everybody] }),
  });
  for (let caller = 0; caller < CALLERS; caller++) {
    mustMatch(admit(policy, caller % services, caller), MATCHING);
  }
  const ids = new RandomIds(CALLERS);
  const run = (operations: number) => {
    let admitted = 0;
    for (let i = 0; i < operations; i++) {
      const caller = ids.next();
      if (admit(policy, caller % services, caller).allowed) admitted++;
    }
    return admitted;
  };
  return { name: `sluice policy, ${written.length + 1} rules`, run };
}

/** A service: one path that is fixed, one with a parameter, and everything below it. */
function toRules(service: number): readonly object[] {
  const base = `/v1/service-${service}`;
  return [
    { id: `s${service}-all`, match: { path: `${base}/*` }, key: "user", limit: generousBucket },
    { id: `s${service}-item`, match: { path: `${base}/items/:id` }, limit: generousBucket },
    { id: `s${service}-search`, match: { path: `${base}/search` }, limit: generousBucket },
  ];
}

/** Half of the callers look for something, half look at it: either way three rules match. */
function admit(policy: Policy, service: number, caller: number): PolicyDecision {
  const rest = caller % 2 === 0 ? "search" : `items/${caller}`;
  return policy.admit({
    method: "GET",
    path: `/v1/service-${service}/${rest}`,
    ip: `10.1.${caller >> 8}.${caller & 255}`,
    user: `${caller}`,
  }) as PolicyDecision;
}
