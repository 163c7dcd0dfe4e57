// `sluice nodes`: every node of the control plane, and how far behind it is.

import type { Command } from "commander";
import type { ReplyOf } from "../../../admin/replies/reply-schemas.js";
import { safe } from "../../text/colours.js";
import { formatTable } from "../../text/table.js";
import type { CommandParts } from "../command-parts.js";
import { addVerb, formatTime } from "./control-verb.js";

type Node = ReplyOf<"nodes">["items"][number];

/** Adds `nodes`. */
export function addNodeCommands(program: Command, parts: CommandParts): void {
  const nodes = program.command("nodes").description("nodes of the control plane");
  addVerb(nodes, parts, {
    usage: "list",
    description: "list all nodes, with the last change that each has applied",
    examples: ["nodes list"],
    run: async ({ client, print }) => {
      const answer = await client.get("nodes", "/v1/nodes");
      const head = ["node", "kind", "version", "change", "behind", "seen", "via"];
      print(answer, () => formatTable([head, ...answer.items.map(toRow)]));
    },
  });
}

function toRow({ name, kind, version, sequence, behind, seenAtMs, isAway, via }: Node): string[] {
  return [
    safe(name),
    kind,
    safe(version),
    String(sequence),
    behind === 0 ? "-" : String(behind),
    isAway ? `${formatTime(seenAtMs)}, away` : formatTime(seenAtMs),
    safe(via),
  ];
}
