// `sluice ledger reconcile`: what nodes say they admitted against what was charged, and who holds the rest.

import type { Command } from "commander";
import type { ReplyOf } from "../../../admin/reply-schemas.js";
import { EXIT } from "../../exit.js";
import { safe } from "../../text/colours.js";
import { formatTable } from "../../text/table.js";
import { addVerb, type CommandParts, formatTime, toListPath } from "../control/control-verb.js";

interface ReconcileFlags {
  readonly meter?: string;
  readonly at?: string;
}

/** All entries of a period are read. */
const ANSWER_MS_MAX = 300_000;

/** Adds `reconcile` to `ledger`. */
export function addReconcileCommand(ledger: Command, parts: CommandParts): void {
  addVerb<ReconcileFlags>(ledger, parts, {
    usage: "reconcile",
    description: "compare what nodes say they admitted with what was charged",
    options: [
      ["--meter <rule>", "only this rule"],
      ["--at <time>", "the periods that hold this day (UTC) or time (default: now)"],
    ],
    about: "Names who holds the difference. Exits with 1 if something is not explained.",
    examples: ["ledger reconcile", "ledger reconcile --meter exports --at 2026-05-31"],
    answerMsMax: ANSWER_MS_MAX,
    run: async ({ client, flags: { meter, at }, print }) => {
      const path = toListPath("/v1/ledger/reconcile", {}, { meter, at });
      const answer = await client.get("reconciliation", path);
      print(answer, () => toLines(answer));
      return answer.explained ? EXIT.ok : EXIT.no;
    },
  });
}

function toLines({ meters, holds, holdCount }: ReplyOf<"reconciliation">): string[] {
  if (meters.length === 0) return ["nothing was charged in this period"];
  const day = (ms: number) => formatTime(ms).slice(0, 10);
  const right = Array.from({ length: 6 }, () => "right" as const);
  const sums = meters.map(({ meter, period, ...sum }) => [
    safe(meter),
    `${day(period.startMs)} to ${day(period.endMs)}`,
    ...[sum.charged, sum.admitted, sum.leased, sum.reserved, sum.lapsed, sum.unexplained].map(
      String,
    ),
  ]);
  const heads = ["charged", "admitted", "leased", "reserved", "lapsed", "unexplained"];
  const lines = formatTable([["meter", "period", ...heads], ...sums], ["left", "left", ...right]);
  if (holds.length === 0) return lines;
  const named = holds.map((hold) => [
    safe(hold.holder),
    safe(hold.meter),
    safe(hold.subject, 60),
    String(hold.sequence),
    hold.kind,
    String(hold.units),
    hold.isOverdue ? "overdue" : `until ${formatTime(hold.expiresAtMs)}`,
  ]);
  const head = ["holder", "meter", "subject", "entry", "kind", "units", "open"];
  const aligns = ["left", "left", "left", "right", "left", "right"] as const;
  const more = holdCount - holds.length;
  return [
    ...lines,
    "",
    ...formatTable([head, ...named], aligns),
    ...(more > 0 ? [`and ${more} more`] : []),
  ];
}
