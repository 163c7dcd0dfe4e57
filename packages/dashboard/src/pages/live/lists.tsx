// The lists of the page Live: rules, busiest keys, latest refusals. Each row leads to its rule or key.

import type { LiveKey, LiveRefusal, LiveTick } from "sluice-server/api";
import { wallMs } from "../../base/clock.js";
import {
  formatAbsolute,
  formatDuration,
  formatRate,
  formatRelative,
  formatShare,
} from "../../ui/formats/format.js";
import { Card } from "../../ui/page/page.js";
import { type Column, Table } from "../../ui/tables/table.js";
import { KeyText } from "../../ui/text/key-text.js";
import { toUrl } from "../../ui/url-query.js";
import { toRuleAddress } from "../rules/addresses.js";

type RuleTick = LiveTick["rules"][number];

interface TickProps {
  readonly tick: LiveTick | undefined;
}

/** How long the second of a tick is. */
const TICK_MS = 1_000;

const RULE_COLUMNS: readonly Column<RuleTick>[] = [
  { name: "Rule", cell: ({ rule }) => <RuleLink rule={rule} /> },
  { name: "Allowed", isNumber: true, cell: ({ allowed }) => formatRate(allowed) },
  { name: "Refused", isNumber: true, cell: ({ blocked }) => formatRate(blocked) },
  { name: "Delayed", isNumber: true, cell: ({ delayed }) => formatRate(delayed) },
  { name: "Shadow", isNumber: true, cell: ({ shadowBlocked }) => formatRate(shadowBlocked) },
  { name: "Counts by", cell: ({ keyType }) => <code>{keyType}</code> },
];

/** The busiest rules. */
export function RulesNow({ tick }: TickProps) {
  // In a fixed order: rows that change places each second can't be read.
  const rules = [...(tick?.rules ?? [])].sort((a, b) => a.rule.localeCompare(b.rule));
  const more = (tick?.rulesInForce ?? 0) - rules.length;
  return (
    <Card title="Rules" isWide>
      <Table
        label="Rules in the last second"
        columns={RULE_COLUMNS}
        rows={rules}
        keyOf={({ rule }) => rule}
        empty={emptyOf(tick, "No rule has counted a request yet. Send one through the gateway.")}
      />
      {more > 0 && rules.length > 0 && (
        <p class="note live-note">
          {more} further {more === 1 ? "rule" : "rules"} with fewer or no requests:{" "}
          <a href="/dashboard/rules">all rules</a>
        </p>
      )}
    </Card>
  );
}

/** What an empty list says: before the first tick nothing is known of what was counted. */
function emptyOf(tick: LiveTick | undefined, empty: string): string {
  return tick === undefined ? "Connecting to the service." : empty;
}

const KEY_COLUMNS: readonly Column<LiveKey>[] = [
  { name: "Key", cell: ({ rule, key }) => <KeyLink rule={rule} value={key} /> },
  { name: "Rule", cell: ({ rule }) => <RuleLink rule={rule} /> },
  { name: "Rate", isNumber: true, cell: ({ perSecond }) => formatRate(perSecond) },
  {
    name: "Share",
    isNumber: true,
    cell: ({ share }) => (
      <span class="live-share">
        <meter min={0} max={1} value={share} aria-label="Share of all decisions" />
        <span>{formatShare(share)}</span>
      </span>
    ),
  },
];

/** The keys with most requests. */
export function BusyKeys({ tick }: TickProps) {
  return (
    <Card title="Busiest keys" isWide>
      <Table
        label="Busiest keys of the last seconds"
        columns={KEY_COLUMNS}
        rows={tick?.hottest ?? []}
        keyOf={({ rule, key }) => `${rule} ${key}`}
        empty={emptyOf(tick, "No keys in the last seconds.")}
      />
    </Card>
  );
}

const toRefusalColumns = (nowMs: number): readonly Column<LiveRefusal>[] => [
  { name: "When", cell: ({ atMs }) => <When atMs={atMs} nowMs={nowMs} /> },
  {
    name: "Request",
    cell: ({ request }) => <KeyText value={request === "" ? "–" : request} lengthMax={40} />,
  },
  {
    name: "Key",
    cell: ({ rule, key }) => (key === null ? "–" : <KeyLink rule={rule ?? ""} value={key} />),
  },
  { name: "Why", cell: (refusal) => <Reason refusal={refusal} /> },
];

const SHOWN_REFUSALS = 10;

interface RefusalsProps extends TickProps {
  readonly refusals: readonly LiveRefusal[];
}

/** The latest refusals. */
export function LatestRefusals({ refusals, tick }: RefusalsProps) {
  const nowMs = tick === undefined ? wallMs() : tick.atMs + TICK_MS;
  return (
    <Card title="Latest refusals" isWide>
      <Table
        label="Latest refusals"
        columns={toRefusalColumns(nowMs)}
        rows={refusals.slice(0, SHOWN_REFUSALS)}
        keyOf={({ atMs, key, request }) => `${atMs} ${key} ${request}`}
        empty={emptyOf(tick, "Nothing was refused lately.")}
      />
    </Card>
  );
}

/** Relative to the second that the page shows, so that a paused page stays as it is. */
function When({ atMs, nowMs }: { readonly atMs: number; readonly nowMs: number }) {
  return (
    <time dateTime={new Date(atMs).toISOString()} title={formatAbsolute(atMs)}>
      {formatRelative(Math.min(atMs, nowMs), nowMs)}
    </time>
  );
}

function Reason({ refusal }: { readonly refusal: LiveRefusal }) {
  const { reason, rule, retryAfterMs } = refusal;
  return (
    <span>
      {REASONS[reason] ?? reason} {rule !== null && <RuleLink rule={rule} />}{" "}
      {retryAfterMs !== null && retryAfterMs > 0 && (
        <small>retry in {formatDuration(retryAfterMs)}</small>
      )}
    </span>
  );
}

/** Why a request was refused, in words. */
const REASONS: Readonly<Record<string, string>> = {
  limit: "over the limit of",
  blocked: "blocked",
  identity: "the request has no key to count by under",
  store: "the store is unavailable; refused under",
  denied: "denied by a switch",
  "unknown-api-key": "unknown API key",
  "unchecked-api-key": "the API key could not be checked",
};

function RuleLink({ rule }: { readonly rule: string }) {
  return <a href={toRuleAddress(rule)}>{rule}</a>;
}

/** Hashes of keys can't be looked up. */
function KeyLink({ rule, value }: { readonly rule: string; readonly value: string }) {
  const href = value.startsWith("hmac:")
    ? undefined
    : toUrl("/dashboard/key", { rule, key: value });
  return <KeyText value={value} lengthMax={40} href={href} />;
}
