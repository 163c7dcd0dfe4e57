// Whose numbers the page shows: the choice of a node, the list of all of them, and on a follower where the others are.

import type { LiveFleet, LiveNode } from "sluice-server/api";
import { formatDuration, formatRate } from "../../ui/formats/format.js";
import { Badge, Card } from "../../ui/page/page.js";
import { type Column, Table } from "../../ui/tables/table.js";
import { toUrl } from "../../ui/url-query.js";

/** Numbers that are older are worth a word. */
const FRESH_MS = 2_500;

/** The address of the page for one node, or for all. */
export function toLiveAddress(node: string | undefined): string {
  return toUrl("/dashboard/", { node });
}

interface PickerProps {
  readonly fleet: LiveFleet | undefined;
  /** The node that the URL names. */
  readonly node: string | undefined;
  onPick(node: string | undefined): void;
}

/** The choice of all nodes or one; nothing where there is only one. */
export function NodePicker({ fleet, node, onPick }: PickerProps) {
  const names = (fleet?.nodes ?? []).map(({ name }) => name);
  if (names.length < 2 && node === undefined) return null;
  const listed = node === undefined || names.includes(node) ? names : [...names, node].sort();
  return (
    <label class="live-node">
      Node{" "}
      <select
        value={node ?? ""}
        onInput={({ currentTarget }) => onPick(currentTarget.value || undefined)}
      >
        <option value="">All nodes</option>
        {listed.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

/** What the numbers are of, in one sentence. */
export function toLead(fleet: LiveFleet | undefined, node: string | undefined): string {
  const when = "What happened in the last second, and over five minutes";
  if (node !== undefined) return `${when}, on the node ${node}.`;
  if (fleet === undefined || fleet.nodesInAll < 2) return `${when}.`;
  const { reporting, nodesInAll } = fleet;
  return reporting === nodesInAll
    ? `${when}, on all ${nodesInAll} nodes together.`
    : `${when}, on ${reporting} of ${nodesInAll} nodes together.`;
}

/** On a follower: that the numbers are of this node alone. */
export function FollowerNote({ fleet }: { readonly fleet: LiveFleet | undefined }) {
  if (fleet?.kind !== "follower") return null;
  return (
    <p class="notice">
      These numbers cover the node {fleet.name} only. It follows {fleet.follow}, whose dashboard
      shows all nodes.
    </p>
  );
}

/** All nodes with their rates, each leading to its own view. */
export function Nodes({ fleet, node }: Pick<PickerProps, "fleet" | "node">) {
  if (fleet === undefined || (fleet.nodesInAll < 2 && fleet.elsewhere === null)) return null;
  const more = fleet.nodesInAll - fleet.nodes.length;
  return (
    <Card title="Nodes" isWide>
      <Table
        label="Nodes in the last second"
        columns={toColumns(fleet, node)}
        rows={fleet.nodes}
        keyOf={({ name }) => name}
      />
      {fleet.elsewhere !== null && (
        <p class="note live-note">
          {fleet.elsewhere.nodes} more {fleet.elsewhere.nodes === 1 ? "node is" : "nodes are"} not
          in these numbers: see the dashboards of {fleet.elsewhere.via.join(" and ")}.
        </p>
      )}
      {more > 0 && (
        <p class="note live-note">
          {more} more {more === 1 ? "node is" : "nodes are"} included but not listed. Add{" "}
          <code>?node=NAME</code> to the address to see one.
        </p>
      )}
    </Card>
  );
}

function toColumns({ nodes }: LiveFleet, picked: string | undefined): readonly Column<LiveNode>[] {
  const version = nodes.find(({ kind }) => kind === "control")?.version ?? null;
  const rate = (value: (node: LiveNode) => number) => (node: LiveNode) =>
    node.isSilent || node.ageMs === null ? "–" : formatRate(value(node));
  return [
    { name: "Node", cell: (node) => <NodeLink node={node} isPicked={node.name === picked} /> },
    { name: "Allowed", isNumber: true, cell: rate(({ allowed }) => allowed) },
    { name: "Refused", isNumber: true, cell: rate(({ blocked }) => blocked) },
    {
      name: "p99",
      isNumber: true,
      cell: ({ p99Ms }) => (p99Ms === null ? "–" : `≤ ${formatDuration(p99Ms)}`),
    },
    { name: "State", cell: (node) => <NodeState node={node} version={version} /> },
  ];
}

function NodeLink({ node, isPicked }: { readonly node: LiveNode; readonly isPicked: boolean }) {
  return (
    <span>
      <a href={toLiveAddress(node.name)} aria-current={isPicked ? "true" : undefined}>
        {node.name}
      </a>{" "}
      {node.kind === "control" && <small>control node</small>}
    </span>
  );
}

function NodeState({
  node,
  version,
}: {
  readonly node: LiveNode;
  readonly version: string | null;
}) {
  const { ageMs, isSilent } = node;
  if (isSilent)
    return (
      <Badge kind="bad">
        {ageMs === null ? "not reporting" : `silent for ${formatAge(ageMs)}`}
      </Badge>
    );
  if (ageMs === null) return <Badge>waiting for its first report</Badge>;
  if (node.version !== version && version !== null)
    return <Badge kind="warn">different rules in force</Badge>;
  if (ageMs > FRESH_MS) return <Badge>reported {formatAge(ageMs)} ago</Badge>;
  return <Badge kind="good">reporting</Badge>;
}

/** In whole seconds, which is all that is known. */
function formatAge(ageMs: number): string {
  return formatDuration(Math.round(ageMs / 1_000) * 1_000);
}
