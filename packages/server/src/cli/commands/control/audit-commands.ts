// `sluice audit`: who changed what, and the proof that the log was not altered.

import type { Command } from "commander";
import type { ReplyOf } from "../../../admin/replies/reply-schemas.js";
import { EXIT } from "../../exit.js";
import { safe } from "../../text/colours.js";
import { count } from "../../text/rules.js";
import type { CommandParts } from "../command-parts.js";
import {
  addVerb,
  formatTime,
  LIST_OPTIONS,
  type ListFlags,
  printPage,
  toListPath,
} from "./control-verb.js";

interface AuditFlags extends ListFlags {
  readonly kind?: string;
  readonly id?: string;
  readonly actor?: string;
}

type AuditEntry = ReplyOf<"audit">["items"][number];

/** Adds `audit`. */
export function addAuditCommands(program: Command, parts: CommandParts): void {
  const audit = program.command("audit").description("the audit log of the control plane");
  addVerb<AuditFlags>(audit, parts, {
    usage: "list",
    description: "list what was changed, the latest first",
    options: [
      [
        "--kind <kind>",
        "rule-set, plan, tenant, api-key, override, block, switch, access-token, counter, quota, webhook-delivery or region",
      ],
      ["--id <id>", "only changes of this entity"],
      ["--actor <name>", "only what this caller did"],
      ...LIST_OPTIONS,
    ],
    examples: ["audit list --actor ci", "audit list --kind rule-set --limit 20"],
    run: async (asking) => {
      const { kind, id, actor, json } = asking.flags;
      // A table shows no bodies.
      const bodies = json === true ? undefined : "none";
      const path = toListPath("/v1/audit", asking.flags, { kind, id, actor, bodies });
      printPage(asking, await asking.client.get("audit", path), {
        head: ["entry", "when", "who", "from", "did", "to", "why"],
        toRow: (entry: AuditEntry) => [
          String(entry.sequence),
          formatTime(entry.atMs),
          safe(entry.actor),
          safe(entry.origin),
          safe(entry.action),
          safe(`${entry.kind} ${entry.entityId}`),
          safe(entry.reason),
        ],
        none: "nothing was changed",
      });
    },
  });
  addVerb(audit, parts, {
    usage: "verify",
    description: "prove that no entry was altered, removed or inserted",
    about: "Exits with 1 if one was.",
    examples: ["audit verify"],
    run: async ({ client, print }) => {
      const report = await client.get("auditReport", "/v1/audit/verify");
      const { rows, valid, problem } = report;
      print(report, () => [
        valid
          ? `the audit log is intact: ${count(rows, "entry", "entries")}`
          : `the audit log was altered: ${safe(problem ?? "", 200)}`,
      ]);
      return valid ? EXIT.ok : EXIT.no;
    },
  });
}
