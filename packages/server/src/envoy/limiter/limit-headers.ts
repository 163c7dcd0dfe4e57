// Headers that describe one limit of a request: the last of those that refuse it, else the one with the least left, as
// envoyproxy/ratelimit chooses.

import type { LimitHeaderNames } from "../../config/config.js";
import { CODE, type DescriptorStatus, type EnvoyHeader } from "../messages.js";
import type { DescriptorRequest } from "./descriptor-requests.js";

/** The status that the headers describe; undefined if no limit applies. */
export function findTightest(
  requests: readonly DescriptorRequest[],
  statuses: readonly DescriptorStatus[],
): DescriptorStatus | undefined {
  let tightest: DescriptorStatus | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const [i, status] of statuses.entries()) {
    if (status.currentLimit === undefined) continue;
    const isRefusing = status.code === CODE.overLimit && !requests[i].isQuota;
    if (!isRefusing && status.remaining >= least) continue;
    tightest = status;
    least = isRefusing ? 0 : status.remaining;
  }
  return tightest;
}

/** The headers of a status with a limit. */
export function toLimitHeaders(
  names: LimitHeaderNames,
  { currentLimit, remaining, resetSeconds }: DescriptorStatus,
): readonly EnvoyHeader[] {
  return [
    { key: names.limit, value: String(currentLimit?.requestsPerUnit ?? 0) },
    { key: names.remaining, value: String(remaining) },
    { key: names.reset, value: String(resetSeconds ?? 0) },
  ];
}
