// The answer to a tenant that asks what it has used: the status of its durable quotas, and its usage by day. A caller
// sees only the accounts of its own tenant, as identified by its API key or token. Asking is limited as for `GET
// /rate_limit`, and usage-report-cache.ts bounds how often the database is read.

import { type ReportCaller, toJsonReply } from "sluice/http";
import { toShedResponse } from "sluice/load-shedding";
import type { Facts } from "sluice/rules";
import type { Core } from "../core/core.js";
import type { LedgerReader } from "../ledger/queries/ledger-reader.js";
import { USAGE_SPAN_MS } from "../ledger/usage/daily-usage.js";
import { UsageReportCache } from "./usage-report-cache.js";

/** Where the days of tenants begin that the control plane does not know, as on the admin port. */
const TIME_ZONE_OTHERWISE = "UTC";

/** Answers callers that ask for their usage. */
export function toUsageReport({
  readLedger,
  findTenant,
  clock,
}: Pick<Core, "readLedger" | "findTenant" | "clock">): ReportCaller {
  const cache = new UsageReportCache(clock);
  return async ({ tenant }: Facts) => {
    if (typeof tenant !== "string" || tenant === "") return refuse(403, NO_TENANT);
    if (!TENANT_NAME.test(tenant)) return refuse(403, OTHER_NAME);
    if (readLedger === undefined) return refuse(404, NO_LEDGER);
    const report = await cache.get(tenant, async () => {
      const timeZone = findTenant?.(tenant)?.timeZone ?? TIME_ZONE_OTHERWISE;
      const ledger = await readLedger();
      const nowMs = clock.wall?.() ?? clock.now();
      return readTenant(ledger, { tenant, timeZone, nowMs });
    });
    return report === undefined ? toShedResponse("overloaded", BUSY) : toJsonReply(report);
  };
}

/** Names of tenants; with any other character a name could be the key of another tenant's user: `acme|user:42`. */
const TENANT_NAME = /^[\w.@-]{1,100}$/;
const NO_TENANT = "usage is shown to callers with a tenant, and this request has none";
const OTHER_NAME =
  "usage is shown to tenants whose name has 1 to 100 letters, digits, _, -, . or @, and this one's has not";
const NO_LEDGER = "this service keeps no ledger: set ledger.database or control.database";

interface Asked {
  readonly tenant: string;
  readonly timeZone: string;
  readonly nowMs: number;
}

async function readTenant(
  ledger: LedgerReader,
  { tenant, timeZone, nowMs }: Asked,
): Promise<object> {
  const who = { subject: `tenant:${tenant}`, timeZone };
  const span = { fromMs: nowMs - USAGE_SPAN_MS, toMs: nowMs + 1 };
  const quotas = await ledger.quotas({ ...who, nowMs });
  const usage = await ledger.usage({ ...who, ...span });
  return {
    tenant,
    timeZone,
    asOfMs: nowMs,
    quotas: quotas.map(({ accountId: _, subject: _subject, ...shown }) => shown),
    usage,
  };
}

const TITLES = { 403: "Forbidden", 404: "Not Found" };

function refuse(status: keyof typeof TITLES, detail: string) {
  return toJsonReply({ type: "about:blank", title: TITLES[status], status, detail }, status);
}

/** When to come back while more tenants ask than can be read soon: not all at the same time. */
const BUSY = { retryAfterMs: 5_000, jitterMsMax: 5_000 };
