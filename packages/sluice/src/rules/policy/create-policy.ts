// `createPolicy` of sluice/rules: a policy that takes rules in any form. Apart from policy.ts, because only strings need
// the YAML parser, and middleware with limits in code must not load it.

import { parseRules } from "../parse/parse.js";
import { Policy } from "./policy.js";
import type { PolicyOptions } from "./policy-options.js";

/**
 * A policy over rules and a store; see {@link PolicyOptions}.
 *
 * @throws SluiceError if the rules or an option can't be used.
 */
export function createPolicy(options: PolicyOptions): Policy {
  return new Policy(options, parseRules);
}
