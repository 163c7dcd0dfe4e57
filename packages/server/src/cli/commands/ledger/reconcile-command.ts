// `sluice ledger reconcile`: compares what processes admitted with what was charged, and shows who holds the
// difference.

import type { Command } from "commander";
import type { ReplyOf } from "../../../admin/replies/reply-schemas.js";
import { EXIT } from "../../exit.js";
import { safe } from "../../text/colours.js";
import { formatPeriod } from "../../text/period.js";
import { formatTable } from "../../text/table.js";
import type { CommandParts } from "../command-parts.js";
import { addVerb, formatTime, toListPath } from "../control/control-verb.js";

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
    description: "compare what processes admitted with what was charged",
    options: [
      ["--meter <rule>", "only this rule"],
      ["--at <time>", "the periods that contain this day (UTC) or time (default: now)"],
    ],
    about: "Names what the difference consists of. Exits with 1 if part of it is not explained.",
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

type ReconciliationReply = ReplyOf<"reconciliation">;

function toLines({ meters, ...lists }: ReconciliationReply): string[] {
  if (meters.length === 0) return ["nothing was charged in this period"];
  return [
    ...toSumLines(meters),
    ...toHoldLines(lists),
    ...toUnchargedLines(lists.uncharged),
    ...toSilentLines(lists.silent),
  ];
}

const SUMS = [
  "charged",
  "admitted",
  "uncharged",
  "leased",
  "reserved",
  "lapsed",
  "unreported",
  "unexplained",
  "drift",
] as const;

function toSumLines(meters: ReconciliationReply["meters"]): string[] {
  const rows = meters.map(({ meter, period, ...sum }) => [
    safe(meter),
    // A line sums up tenants of several time zones.
    formatPeriod(period, "UTC"),
    ...SUMS.map((name) => String(sum[name])),
  ]);
  return formatTable(
    [["meter", "period", ...SUMS], ...rows],
    ["left", "left", ...SUMS.map(() => "right" as const)],
  );
}

function toHoldLines({
  holds,
  holdCount,
}: Pick<ReconciliationReply, "holds" | "holdCount">): string[] {
  if (holds.length === 0) return [];
  const rows = holds.map((hold) => [
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
  const lines = formatTable([head, ...rows], aligns);
  return ["", ...lines, ...(more > 0 ? [`and ${more} more`] : [])];
}

function toUnchargedLines(uncharged: ReconciliationReply["uncharged"]): string[] {
  if (uncharged.length === 0) return [];
  const rows = uncharged.map(({ holder, meter, subject, units }) => [
    safe(holder),
    safe(meter),
    subject === "" ? "(others)" : safe(subject, 60),
    String(units),
  ]);
  const head = ["holder", "meter", "subject", "units"];
  const lines = formatTable([head, ...rows], ["left", "left", "left", "right"]);
  return ["", "admitted by onStoreFailure while the ledger did not answer:", ...lines];
}

function toSilentLines(silent: ReconciliationReply["silent"]): string[] {
  return silent.map(
    ({ holder, reportedAtMs }) =>
      `${safe(holder)} stopped reporting at ${formatTime(reportedAtMs)}: what it admitted later is not known`,
  );
}
