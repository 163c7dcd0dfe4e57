// `sluice blocks`: callers and addresses that every node refuses.

import type { Command } from "commander";
import { safe } from "../../text/colours.js";
import { count } from "../../text/rules.js";
import type { CommandParts } from "../command-parts.js";
import {
  addRemoval,
  addVerb,
  formatTime,
  given,
  LIST_OPTIONS,
  type ListFlags,
  printPage,
  toEndMs,
  toListPath,
} from "./control-verb.js";

interface Block {
  readonly id: string;
  readonly subjects: readonly string[];
  readonly endsAtMs?: number | undefined;
  readonly reason: string;
}

const SUBJECTS_SHOWN = 5;

/** Adds `blocks`. */
export function addBlockCommands(program: Command, parts: CommandParts): void {
  const blocks = program
    .command("blocks")
    .description("callers and addresses that every node refuses, whatever the rules say");
  addVerb<ListFlags>(blocks, parts, {
    usage: "list",
    description: "list blocks",
    options: LIST_OPTIONS,
    examples: ["blocks list"],
    run: async (asking) => {
      printPage(asking, await asking.client.get("blocks", toListPath("/v1/blocks", asking.flags)), {
        head: ["block", "who", "ends", "reason"],
        toRow: (block: Block) => [
          safe(block.id),
          saySubjects(block),
          formatTime(block.endsAtMs),
          safe(block.reason),
        ],
        none: "there are no blocks",
      });
    },
  });
  addVerb<{ for?: string; reason: string }>(blocks, parts, {
    usage: "add <subjects...>",
    description: "refuse addresses, ranges, users, tenants or API keys on every node",
    required: [["--reason <text>", "why"]],
    options: [["--for <duration>", "how long: 2h, 1d or forever (default: forever)"]],
    examples: [
      "blocks add ip:203.0.113.0/24 --for 1d --reason scraping",
      "blocks add user:42 tenant:acme --reason fraud",
    ],
    run: async ({ client, args: subjects, flags, print }) => {
      const endsAtMs = toEndMs("--for", flags.for);
      const body = given({ subjects, endsAtMs, reason: flags.reason });
      const block = await client.send("blockEntry", { method: "POST", path: "/v1/blocks", body });
      const until =
        endsAtMs === undefined ? "until it is removed" : `until ${formatTime(endsAtMs)}`;
      print(block, () => [`${safe(block.id)}: ${saySubjects(block)} blocked ${until}`]);
    },
  });
  addRemoval(blocks, parts, {
    usage: "remove <block>",
    description: "end a block",
    examples: ["blocks remove 7Hq2mZpVw9Tb"],
    path: "/v1/blocks",
    done: "removed",
  });
}

function saySubjects({ subjects }: Block): string {
  const shown = subjects.slice(0, SUBJECTS_SHOWN).map((subject) => safe(subject));
  const rest = subjects.length - shown.length;
  return rest === 0 ? shown.join(" ") : `${shown.join(" ")} and ${count(rest, "other")}`;
}
