// Routes that read the ledger: the status of quotas, what was used, which entries there are, and whether it is intact.

import { once } from "node:events";
import type { ServerResponse } from "node:http";
import {
  anyString,
  choice,
  object,
  optional,
  required,
  type Shape,
  stringFor,
  withDefault,
} from "sluice/shapes";
import { every } from "../../../base/clock.js";
import { ServerError } from "../../../base/errors.js";
import type { ControlPlane } from "../../../control/control-plane.js";
import { entityName, ruleId } from "../../../control/entities/entity-shapes.js";
import type { Core } from "../../../core/core.js";
import { ENTRY_KINDS } from "../../../ledger/accounts/entry.js";
import {
  EXPORT_FORMATS,
  EXPORT_TYPES,
  toExport,
  toExported,
} from "../../../ledger/queries/entry-export.js";
import type { EntryCursor, EntryFilter } from "../../../ledger/queries/entry-pages.js";
import type { QuotaShare } from "../../../ledger/queries/quota-shares.js";
import type { QuotaStatus } from "../../../ledger/queries/quota-status.js";
import { USAGE_SPAN_MS } from "../../../ledger/usage/daily-usage.js";
import type { LedgerReport } from "../../../ledger/verify/report.js";
import { json } from "../../replies/admin-reply.js";
import { ledgerAnswers } from "../../replies/ledger-replies.js";
import { ENTRIES_HEADER } from "../../replies/reply-schemas.js";
import { paging, queryNumber, toPage } from "../../request/paging.js";
import { type QueryTime, queryTime, toMs } from "../../request/query-time.js";
import { controlRoute, nothing, type Route } from "../../route.js";

/** Quotas that can be paged through by share: whose share is smaller is found by name. */
const SHARES_MAX = 10_000;
const SUBJECT_LENGTH_MAX = 600;
const KEEP_ALIVE_MS = 15_000;
const JSON_HEADERS = {
  "Content-Type": "application/json",
  "Cache-Control": "no-store",
  "X-Content-Type-Options": "nosniff",
};

/**
 * A tenant as a rule counts it. Requests can name tenants that the control plane does not know, by any string: the ledger
 * has accounts of those too.
 */
const countedTenant: Shape<string> = stringFor({
  what: "a tenant as the rule counts it, such as acme",
  lengthMax: SUBJECT_LENGTH_MAX,
  toValue: (tenant) => (/[\0\p{Cs}]/u.test(tenant) || tenant === "" ? undefined : tenant),
});

const filters = {
  tenant: optional(countedTenant, "Only accounts of this tenant."),
  subject: optional(
    anyString(SUBJECT_LENGTH_MAX),
    "Only accounts of this key, as the rule counts it: `user:42`.",
  ),
  meter: optional(ruleId, "Only accounts of this rule."),
  kind: optional(choice(ENTRY_KINDS), "Only entries of this kind."),
  from: optional(queryTime, "From this time on; a day begins in UTC. Default: the first entry."),
  to: optional(queryTime, "Up to, but not including, this time. Default: now."),
};

/** The routes of the ledger that change nothing. */
export const ledgerRoutes: readonly Route[] = [
  controlRoute({
    method: "GET",
    path: "/v1/quotas",
    role: "viewer",
    summary: "The status of a tenant's durable quotas in their periods, with a forecast.",
    query: object({
      tenant: required(countedTenant, "Whose quotas."),
      meter: optional(ruleId, "Only that of this rule."),
    }),
    reply: ledgerAnswers.quotas,
    handle: async (plane, { query: { tenant, meter } }, { core }) => {
      const timeZone = await timeZoneOf(plane, tenant);
      const subject = toSubject(tenant);
      const nowMs = wallMsOf(core);
      const items = await plane.ledger.quotas({ subject, meter, timeZone, nowMs });
      return json({ tenant, timeZone, items: items.map(toQuotaView) });
    },
  }),
  controlRoute({
    method: "GET",
    path: "/v1/quota-shares",
    role: "viewer",
    summary: "How much of their durable quotas tenants have used, the most used first.",
    query: object({
      ...paging,
      after: optional(
        queryNumber({ min: 1, max: SHARES_MAX }),
        "`next` of the page before. The first 10,000 can be read.",
      ),
      search: optional(entityName, "Only tenants whose id starts with this."),
      meter: optional(ruleId, "Only quotas of this rule."),
    }),
    reply: ledgerAnswers.quotaShares,
    handle: async (plane, { query }, { core }) => {
      const { after: offset = 0, limit, search = "", meter } = query;
      const nowMs = wallMsOf(core);
      const page = { prefix: toSubject(search), meter, nowMs, offset, limit: limit + 1 };
      const shares = await plane.ledger.shares(page);
      const items = shares.slice(0, limit).map(toShareView);
      const end = offset + limit;
      const hasMore = shares.length > limit && end <= SHARES_MAX;
      return json({ items, next: hasMore ? String(end) : null });
    },
  }),
  controlRoute({
    method: "GET",
    path: "/v1/usage",
    role: "viewer",
    summary: "What a tenant used of its durable quotas, by meter and day.",
    query: object({
      tenant: required(countedTenant, "Whose usage."),
      meter: optional(ruleId, "Only that of this rule."),
      from: optional(queryTime, "A day begins in the tenant's time zone. Default: 31 days ago."),
      to: optional(queryTime, "Up to, but not including, this time. Default: now."),
      by: withDefault(choice(["day"]), "day", "What is added up."),
    }),
    reply: ledgerAnswers.usage,
    handle: async (plane, { query: { tenant, meter, from, to, by } }, { core }) => {
      const timeZone = await timeZoneOf(plane, tenant);
      const nowMs = wallMsOf(core);
      const span = toSpan(
        { from, to },
        { timeZone, fromMs: nowMs - USAGE_SPAN_MS, toMs: nowMs + 1 },
      );
      const filter = { subject: toSubject(tenant), meter, timeZone, ...span };
      const items = await plane.ledger.usage(filter);
      return json({ tenant, timeZone, ...span, by, items });
    },
  }),
  controlRoute({
    method: "GET",
    path: "/v1/ledger/entries",
    role: "viewer",
    summary: "Entries of the ledger, the earliest first.",
    query: object({ ...paging, ...filters }),
    reply: ledgerAnswers.ledgerEntries,
    handle: async (plane, { query: { after, limit, ...filter } }, { core }) => {
      const page = { after: after === undefined ? undefined : toCursor(after), limit: limit + 1 };
      const entries = await plane.ledger.entries(toFilter(filter, core), page);
      return json(toPage(entries.map(toExported), limit, fromCursor));
    },
  }),
  controlRoute({
    method: "GET",
    path: "/v1/ledger/export",
    role: "viewer",
    summary:
      "The entries of the ledger that match the filters, as CSV, as one JSON list or as NDJSON, while they are read.",
    query: object({
      ...filters,
      format: withDefault(choice(EXPORT_FORMATS), "csv", "Of the export."),
    }),
    reply: undefined,
    handle: async (plane, { query: { format, ...query } }, { core }) => {
      const filter = toFilter(query, core);
      const entries = await plane.ledger.countEntries(filter);
      const pieces = toExport(plane.ledger.entryPages(filter), format);
      return {
        stream: (response) => {
          response.writeHead(200, {
            "Content-Type": EXPORT_TYPES[format],
            "Content-Disposition": `attachment; filename="ledger.${format}"`,
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
            [ENTRIES_HEADER]: entries,
          });
          return write(response, pieces);
        },
      };
    },
  }),
  controlRoute({
    method: "GET",
    path: "/v1/ledger/reconcile",
    role: "viewer",
    summary: "What processes admitted against what the ledger has charged, and who holds the rest.",
    query: object({
      meter: optional(ruleId, "Only this rule."),
      at: optional(queryTime, "In the periods that hold this time. Default: now."),
    }),
    reply: ledgerAnswers.reconciliation,
    handle: async (plane, { query: { meter, at } }, { core }) => {
      const nowMs = wallMsOf(core);
      const atMs = at === undefined ? nowMs : toMs(at, "UTC");
      const found = await plane.ledger.reconcile({ meter, atMs, nowMs });
      return json({
        explained: found.meters.every(({ unexplained, drift }) => unexplained === 0 && drift === 0),
        ...found,
      });
    },
  }),
  controlRoute({
    method: "POST",
    path: "/v1/ledger/verify",
    role: "operator",
    summary:
      "Reads the whole ledger, and lists what does not fit: balances, chains, quotas, holds.",
    input: nothing,
    reply: ledgerAnswers.ledgerReport,
    handle: (plane) => ({
      stream: async (response) => {
        const stop = keepAlive(response);
        try {
          const report = await plane.ledger.verify();
          if (!response.headersSent) response.writeHead(200, JSON_HEADERS);
          response.end(`${JSON.stringify(toReportView(report))}\n`);
        } finally {
          stop();
        }
      },
    }),
  }),
];

function toReportView({ problems, problemCount, ...read }: LedgerReport) {
  const listed = problems.map(({ meter = null, subject = null, sequence = null, ...rest }) => ({
    ...rest,
    meter,
    subject,
    sequence,
  }));
  return { valid: problemCount === 0, ...read, problemCount, problems: listed };
}

/** Sends a blank now and then, which JSON may begin with: clients give up on an answer that does not begin. */
function keepAlive(response: ServerResponse): () => void {
  return every(KEEP_ALIVE_MS, () => {
    if (!response.headersSent) response.writeHead(200, JSON_HEADERS);
    response.write(" ");
  });
}

/** The key of a tenant under rules with `key: tenant`. */
export function toSubject(tenant: string): string {
  return `tenant:${tenant}`;
}

function toShareView({ subject, ...share }: QuotaShare) {
  return { tenant: subject.slice(toSubject("").length), ...share };
}

/** A quota as it is answered. */
export function toQuotaView({ forecast, ...status }: QuotaStatus) {
  return { ...status, forecast: forecast === undefined ? null : toForecastView(forecast) };
}

function toForecastView(forecast: NonNullable<QuotaStatus["forecast"]>) {
  const { unitsPerDay, day = null, atMs = null, earliestDay = null, latestDay = null } = forecast;
  return { unitsPerDay, day, atMs, earliestDay, latestDay };
}

/** Where the days of a tenant begin. Tenants that are not in the control plane have days of UTC. */
export async function timeZoneOf(plane: ControlPlane, tenant: string): Promise<string> {
  return (await plane.tenants.find(tenant))?.body.timeZone ?? "UTC";
}

/** The wall clock of a service. */
export function wallMsOf({ clock }: Core): number {
  return clock.wall?.() ?? clock.now();
}

interface TimeRange {
  readonly from?: QueryTime | undefined;
  readonly to?: QueryTime | undefined;
}

function toSpan(
  { from, to }: TimeRange,
  otherwise: { readonly timeZone: string; readonly fromMs: number; readonly toMs: number },
): { fromMs: number; toMs: number } {
  const { timeZone } = otherwise;
  const fromMs = from === undefined ? otherwise.fromMs : toMs(from, timeZone);
  const endMs = to === undefined ? otherwise.toMs : toMs(to, timeZone);
  if (fromMs <= endMs) return { fromMs, toMs: endMs };
  throw new ServerError("SLUICE_REQUEST_INVALID", "`from` is later than `to`");
}

interface FilterQuery extends TimeRange, Pick<EntryFilter, "subject" | "meter" | "kind"> {
  readonly tenant?: string | undefined;
}

function toFilter(
  { tenant, subject, meter, kind, ...range }: FilterQuery,
  core: Core,
): EntryFilter {
  if (tenant !== undefined && subject !== undefined)
    throw new ServerError("SLUICE_REQUEST_INVALID", "use `tenant` or `subject`, not both");
  const span = toSpan(range, { timeZone: "UTC", fromMs: 0, toMs: wallMsOf(core) + 1 });
  return { ...span, meter, kind, subject: tenant === undefined ? subject : toSubject(tenant) };
}

function fromCursor({ atMs, accountId, sequence }: EntryCursor): string {
  return `${atMs}.${sequence}.${accountId}`;
}

function toCursor(text: string): EntryCursor {
  const [, atMs, sequence, accountId] = /^(\d{1,16})\.(\d{1,16})\.([\w-]{1,100})$/.exec(text) ?? [];
  if (accountId === undefined)
    throw new ServerError("SLUICE_REQUEST_INVALID", "`after` must be `next` of the page before");
  return { atMs: Number(atMs), sequence: Number(sequence), accountId };
}

/** Writes pieces as fast as they are read, and stops when the reader has gone. */
async function write(response: ServerResponse, pieces: AsyncIterable<string>): Promise<void> {
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  try {
    for await (const piece of pieces) {
      if (gone.signal.aborted) return;
      if (!response.write(piece)) await once(response, "drain", { signal: gone.signal });
    }
    response.end();
  } catch (error) {
    if (!gone.signal.aborted) throw error;
  }
}
