// Which nodes of the fleet an answer covers, in a sentence: a part must not look like the whole.

import type { ReplyOf } from "sluice-server/api";
import { useControlPlane } from "../../api/session.js";
import { formatCount } from "../formats/format.js";

type Nodes = ReplyOf<"samples">["nodes"];

interface CoverageProps {
  readonly nodes: Nodes;
  /** What comes from nodes, as the beginning of a sentence: `Decisions`. */
  readonly what: string;
}

/** The sentence; nothing where there is only one node. */
export function Coverage({ nodes, what }: CoverageProps) {
  const controlPlane = useControlPlane();
  const sentence =
    nodes === null
      ? controlPlane === "elsewhere"
        ? `${what} of this node only. The dashboard of the control node shows those of all nodes.`
        : undefined
      : sayCoverage(nodes, what);
  if (sentence === undefined) return null;
  const isWhole = nodes === null || nodes.covered === nodes.inAll;
  return (
    <p class={isWhole ? "note" : "notice"} role={isWhole ? undefined : "status"}>
      {sentence}
    </p>
  );
}

/** `Decisions of 2 of 3 nodes. edge-1 did not answer in time.` Undefined if there is one node and no other. */
export function sayCoverage(nodes: NonNullable<Nodes>, what: string): string | undefined {
  const { inAll, covered, silent, elsewhere } = nodes;
  if (inAll === 1 && elsewhere === 0) return undefined;
  const whose =
    covered === inAll
      ? inAll === 1
        ? "this node"
        : `all ${formatCount(inAll)} nodes`
      : `${formatCount(covered)} of ${formatCount(inAll)} nodes`;
  const unasked = inAll - covered - silent.length;
  const parts = [
    `${what} of ${whose}.`,
    silent.length > 0 && `${silent.join(", ")} did not answer in time.`,
    unasked > 0 && `${sayNodes(unasked)} could not be asked.`,
    elsewhere > 0 && `${sayNodes(elsewhere)} at other control nodes are not among them.`,
  ];
  return parts.filter(Boolean).join(" ");
}

function sayNodes(count: number): string {
  return count === 1 ? "1 node" : `${formatCount(count)} nodes`;
}
