// Clients that operators refuse or exempt by their address, whatever the limits say. Envoy names the client in the entry
// `remote_address` of a descriptor; a request without one is decided by its limits alone.

import { type Policy, type PolicyDecision, refuseBlocked } from "sluice/rules";
import {
  CODE,
  type Descriptor,
  type RateLimitRequest,
  type RateLimitResponse,
} from "../messages.js";
import { NO_LIMIT, toRetryAfter } from "./rate-limit-response.js";

const ADDRESS_KEY = "remote_address";

/** Looks addresses of requests up in the lists and blocks that are in force. */
export class ListedAddresses {
  readonly #policy: Policy;
  readonly #onRefused: (decision: PolicyDecision) => void;

  /** @param policy - Has the lists and blocks; its rules are not asked. */
  constructor(policy: Policy, onRefused: (decision: PolicyDecision) => void) {
    this.#policy = policy;
    this.#onRefused = onRefused;
  }

  /** The refusal of a request, if one of its addresses is in a denylist or blocked. */
  refuse({ descriptors }: RateLimitRequest): RateLimitResponse | undefined {
    if (this.#policy.lists === undefined && this.#policy.callerBlocks === undefined)
      return undefined;
    for (const ip of addressesOf(descriptors)) {
      const decision = refuseBlocked(this.#policy, { method: "GET", path: "/", ip });
      if (decision === undefined) continue;
      this.#onRefused(decision);
      return toRefusal(descriptors, ip, decision.retryAfterMs);
    }
    return undefined;
  }

  /** Whether no limit counts a request, because its addresses are in an allowlist. */
  allows({ descriptors }: RateLimitRequest): boolean {
    const { lists } = this.#policy;
    if (lists === undefined) return false;
    const addresses = addressesOf(descriptors);
    return addresses.length > 0 && addresses.every((ip) => lists.find(ip) === "allow");
  }
}

function addressesOf(descriptors: readonly Descriptor[]): readonly string[] {
  return descriptors.flatMap(({ entries }) =>
    entries.filter(({ key }) => key === ADDRESS_KEY).map(({ value }) => value),
  );
}

/** Descriptors with the address are over their limit, and have none that could be named. */
function toRefusal(
  descriptors: readonly Descriptor[],
  ip: string,
  waitMs: number,
): RateLimitResponse {
  const statuses = descriptors.map((descriptor) =>
    addressesOf([descriptor]).includes(ip) ? { ...NO_LIMIT, code: CODE.overLimit } : NO_LIMIT,
  );
  return { overallCode: CODE.overLimit, statuses, responseHeaders: toRetryAfter(waitMs) };
}
