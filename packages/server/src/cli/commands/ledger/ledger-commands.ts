// `sluice ledger`: the proof that the ledger is intact, and its entries as a file.

import type { Command } from "commander";
import type { ReplyOf } from "../../../admin/replies/reply-schemas.js";
import { EXIT } from "../../exit.js";
import { safe } from "../../text/colours.js";
import { count } from "../../text/rules.js";
import { formatTable } from "../../text/table.js";
import type { CommandParts } from "../command-parts.js";
import { addVerb } from "../control/control-verb.js";
import { addExportCommand } from "./export-command.js";
import { addReconcileCommand } from "./reconcile-command.js";

/** How long a verification may take: an hour is a billion entries. */
const VERIFY_MS_MAX = 3_600_000;

/** Adds `ledger`. */
export function addLedgerCommands(program: Command, parts: CommandParts): void {
  const ledger = program.command("ledger").description("the ledger of durable quotas");
  addVerb(ledger, parts, {
    usage: "verify",
    description: "prove that balances, hashes and holds match the entries",
    about: "Reads all entries while the service keeps running. Exits with 1 if it finds a problem.",
    examples: ["ledger verify", "ledger verify --json"],
    answerMsMax: VERIFY_MS_MAX,
    run: async ({ client, print }) => {
      const report = await client.post("ledgerReport", "/v1/ledger/verify", {});
      print(report, () => toLines(report));
      return report.valid ? EXIT.ok : EXIT.no;
    },
  });
  addExportCommand(ledger, parts);
  addReconcileCommand(ledger, parts);
}

function toLines(report: ReplyOf<"ledgerReport">): string[] {
  const { valid, accounts, entries, problemCount, problems } = report;
  const read = `${count(entries, "entry", "entries")} of ${count(accounts, "account")}`;
  if (valid) return [`the ledger is intact: ${read}`];
  const rows = problems.map(({ check, accountId, meter, subject, sequence, problem }) => [
    check,
    meter === null ? safe(accountId) : `${safe(meter)} ${safe(subject ?? "", 60)}`,
    sequence === null ? "account" : `entry ${sequence}`,
    safe(problem, 200),
  ]);
  const more = problemCount - problems.length;
  return [
    `the ledger is not intact: ${count(problemCount, "problem")} in ${read}`,
    ...formatTable(rows),
    ...(more > 0 ? [`and ${more} more`] : []),
  ];
}
