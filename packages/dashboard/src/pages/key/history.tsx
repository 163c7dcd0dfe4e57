// What was decided about a key of late: refusals, and all decisions if the key is among those that are sampled.

import type { ReplyOf } from "sluice-server/api";
import { CLEAR_KEYS } from "../../api/session.js";
import { useAnswer } from "../../api/use-answer.js";
import { formatCount, formatDuration } from "../../ui/formats/format.js";
import { Time } from "../../ui/formats/time.js";
import { Coverage } from "../../ui/page/coverage.js";
import { Badge, Card } from "../../ui/page/page.js";
import { Loaded } from "../../ui/page/states.js";
import { type Column, Table } from "../../ui/tables/table.js";
import { KeyText } from "../../ui/text/key-text.js";

type Sample = ReplyOf<"samples">["items"][number];

const EVERY_MS = 5_000;
const LIMIT = 20;

interface HistoryProps {
  /** As it is counted, or its digest. */
  readonly counterKey: string;
  /** Whether it is a digest: then keys are not asked for in clear. */
  readonly isDigest?: boolean;
}

/** The latest decisions. */
export function History({ counterKey, isDigest = false }: HistoryProps) {
  const query = { key: counterKey, limit: LIMIT, ...(!isDigest && { keys: "clear" }) };
  const options = { query, everyMs: EVERY_MS, ...(!isDigest && { headers: CLEAR_KEYS }) };
  const answer = useAnswer("samples", "/v1/samples", options);
  return (
    <Card title="Latest decisions" isWide>
      <p class="note key-history">
        Refusals, and everything about keys that are sampled: <KeyText value={counterKey} />
      </p>
      <Loaded answer={answer} lines={4}>
        {({ items, nodes }) => (
          <>
            <Coverage nodes={nodes} what="Decisions" />
            <Table
              label="Latest decisions"
              columns={nodes !== null && nodes.inAll > 1 ? [...COLUMNS, NODE] : COLUMNS}
              rows={items}
              keyOf={(sample) => `${sample.atMs} ${items.indexOf(sample)}`}
              empty="No decisions about this key were kept: it was not refused in the last minutes, and it is not a sampled key."
            />
          </>
        )}
      </Loaded>
    </Card>
  );
}

const NODE: Column<Sample> = { name: "Node", cell: ({ node }) => node ?? "–" };

const KINDS = { allowed: "good", delayed: "warn", blocked: "bad" } as const;
const WORDS = { allowed: "allowed", delayed: "delayed", blocked: "refused" } as const;

const COLUMNS: readonly Column<Sample>[] = [
  { name: "When", cell: ({ atMs }) => <Time atMs={atMs} /> },
  {
    name: "Outcome",
    cell: ({ outcome, shadowBlocked }) => (
      <span>
        <Badge kind={KINDS[outcome]}>{WORDS[outcome]}</Badge>{" "}
        {shadowBlocked && <Badge kind="info">shadow</Badge>}
      </span>
    ),
  },
  {
    name: "Request",
    cell: ({ facts }) =>
      facts === null ? "–" : <KeyText value={`${facts.method} ${facts.path}`} lengthMax={60} />,
  },
  { name: "Rule", cell: ({ rule }) => rule ?? "–" },
  {
    name: "Why",
    cell: ({ reason, delayMs }) => (reason === null ? waited(delayMs) : REASONS[reason]),
  },
  {
    name: "Left",
    isNumber: true,
    cell: ({ remaining, limit }) =>
      remaining === null || limit === null
        ? "–"
        : `${formatCount(remaining)} of ${formatCount(limit)}`,
  },
];

/** Why it was refused, in words. */
const REASONS: Readonly<Record<NonNullable<Sample["reason"]>, string>> = {
  limit: "over the limit",
  blocked: "blocked",
  identity: "no key to count by",
  store: "the store was unavailable",
  denied: "denied by a switch",
  "unknown-api-key": "unknown API key",
  "unchecked-api-key": "API key not checked",
};

function waited(delayMs: number): string {
  return delayMs > 0 ? `waited ${formatDuration(delayMs)}` : "";
}
