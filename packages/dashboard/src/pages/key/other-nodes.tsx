// How the caller stands on nodes that count in a store of their own: the counters above are those of one node there. Where
// all nodes share one store, a sentence says so.

import type { ReplyOf } from "sluice-server/api";
import { useAnswer } from "../../api/use-answer.js";
import { Gauge } from "../../ui/charts/gauge.js";
import { formatCount } from "../../ui/formats/format.js";
import { InTime } from "../../ui/formats/time.js";
import { Coverage } from "../../ui/page/coverage.js";
import { Badge, Card } from "../../ui/page/page.js";
import { type Column, Table } from "../../ui/tables/table.js";
import { KeyText } from "../../ui/text/key-text.js";
import type { Facts } from "./lookup.js";

type Standings = ReplyOf<"standings">;

const EVERY_MS = 5_000;
/** Rows that are drawn. */
const ROWS_MAX = 100;

interface OtherNodesProps {
  readonly facts: Facts;
}

/** The card; nothing where there is no other node. */
export function OtherNodes({ facts }: OtherNodesProps) {
  const { data } = useAnswer("standings", "/v1/explain/nodes", {
    body: { facts },
    everyMs: EVERY_MS,
  });
  // It comes after the rest of the page, and most fleets share a store: there is nothing to wait for.
  if (data === undefined || data.nodes === null || data.nodes.inAll === 1) return null;
  const { elsewhere } = data;
  return (
    <Card title="On other nodes" isWide>
      <p class="note">{saySharing(data)}</p>
      <Coverage nodes={data.nodes} what="Counters" />
      {elsewhere.length > 0 && (
        <Table
          label="Counters on other nodes"
          columns={COLUMNS}
          rows={toRows(data)}
          keyOf={({ node, rule, at }) => `${node} ${rule} ${at}`}
          empty="No rule counts this caller there."
        />
      )}
    </Card>
  );
}

/** What the counters above stand for. */
function saySharing({ node, store, sharing, elsewhere }: Standings): string {
  const own = `The counters above are those of ${node ?? "this node"}`;
  if (elsewhere.length === 0 && sharing > 0)
    return `All of them count in the same store (${store}), so the counters above hold for each.`;
  const with_ = sharing > 0 ? ` and ${formatCount(sharing)} more that count in the same store` : "";
  if (elsewhere.length === 0) return `${own}${with_}.`;
  return `${own}${with_}. Others count by themselves: Reset, Refund and Block act on the counters above only. Blocks and overrides of a caller hold on all nodes.`;
}

interface Row {
  readonly node: string;
  readonly at: number;
  readonly rule: string;
  readonly counter: Standings["elsewhere"][number]["counters"][number];
}

function toRows({ elsewhere }: Standings): Row[] {
  return elsewhere
    .flatMap(({ node, counters }) =>
      counters.map((counter, at) => ({ node, at, rule: counter.rule, counter })),
    )
    .sort((a, b) => usedShare(b) - usedShare(a))
    .slice(0, ROWS_MAX);
}

function usedShare({ counter: { limit, remaining, blockedMs } }: Row): number {
  return blockedMs === 0 ? 1 - remaining / Math.max(1, limit) : 2;
}

const COLUMNS: readonly Column<Row>[] = [
  { name: "Node", cell: ({ node }) => node },
  { name: "Rule", cell: ({ rule }) => <KeyText value={rule} lengthMax={40} /> },
  {
    name: "Used",
    cell: ({ node, rule, counter: { limit, remaining } }) => (
      <Gauge
        used={Math.max(0, limit - remaining)}
        limit={limit}
        label={`Used under ${rule} on ${node}`}
      />
    ),
  },
  {
    name: "All back in",
    isNumber: true,
    cell: ({ counter: { limit, remaining, resetMs } }) =>
      remaining >= limit || resetMs === null ? "–" : <InTime ms={resetMs} />,
  },
  {
    name: "State",
    cell: ({ counter: { wouldPass, blockedMs } }) =>
      blockedMs !== 0 ? (
        <Badge kind="bad">blocked</Badge>
      ) : (
        <Badge kind={wouldPass ? "good" : "bad"}>{wouldPass ? "passes" : "refuses"}</Badge>
      ),
  },
];
