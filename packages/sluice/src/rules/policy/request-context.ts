// What all requests of a policy share, made of the policy's options and of what may change while it runs.

import { NormalizedRequest } from "../match/normalized-request.js";
import { type FindTenant, withProfile } from "../tenant-profile.js";
import { toReports } from "./policy-events.js";
import type { PolicySetup } from "./policy-options.js";
import type { RequestContext } from "./policy-request/policy-request.js";

/** The context of a policy's requests. */
export function toRequestContext(
  { clock, costs, networkOf, onEvent, seesResponses }: PolicySetup,
  now: { readonly isClosed: () => boolean; readonly findTenant: () => FindTenant | undefined },
): RequestContext {
  return {
    ...toReports(onEvent, now.isClosed),
    clock,
    costs,
    seesResponses,
    complete: (facts) => withProfile(facts, now.findTenant()),
    normalize: (facts, { ipv6Prefix }) => new NormalizedRequest(facts, ipv6Prefix, networkOf),
  };
}
