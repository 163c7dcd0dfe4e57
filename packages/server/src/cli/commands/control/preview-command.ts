// `sluice rules preview`: what the rules of a file would have done to the requests of the last minutes.

import type { Command } from "commander";
import { formatDuration } from "sluice/shapes";
import { CONFIRM_CLEAR_KEYS, CONFIRM_HEADER } from "../../../admin/auth/clear-keys.js";
import type { ReplyOf } from "../../../admin/replies/reply-schemas.js";
import { EXIT, type ExitCode, usageError } from "../../exit.js";
import { nameOf, readText } from "../../files.js";
import { safe } from "../../text/colours.js";
import { count, formatProblems } from "../../text/rules.js";
import { formatTable } from "../../text/table.js";
import type { CommandParts } from "../command-parts.js";
import { mustBeMeant } from "../top-command.js";
import { addVerb, type VerbRun } from "./control-verb.js";

type Preview = ReplyOf<"preview">;

interface PreviewFlags {
  readonly minutes?: string;
  readonly clearKeys?: boolean;
  readonly yes?: boolean;
}

/** Keys that are printed; `--json` has more. */
const KEYS_MAX = 20;
const ANSWER_MS_MAX = 30_000;

/** Adds the verb to `rules`. */
export function addPreviewCommand(rules: Command, parts: CommandParts): void {
  addVerb<PreviewFlags>(rules, parts, {
    usage: "preview <file>",
    description: "decide the requests of the last minutes again, under a rule file",
    options: [
      ["--minutes <count>", "how far back, 1 to 5; default 5"],
      ["--clear-keys", "show keys in clear; asks first, and the service logs it"],
      ["--yes", "with --clear-keys: don't ask"],
    ],
    about: `Sampled requests are decided by the file and by the rules in force, both with empty counters. Nothing is uploaded,
and no counter changes. Exits with 1 if the rules are invalid.`,
    examples: ["rules preview rules.yaml", "rules preview rules.yaml --minutes 1 --json"],
    answerMsMax: ANSWER_MS_MAX,
    run: preview,
  });
}

async function preview(asking: VerbRun<PreviewFlags>): Promise<ExitCode> {
  const { client, args, flags, print, terminal } = asking;
  const [file] = args;
  const minutes = toMinutes(flags.minutes ?? "5");
  await mustBeMeant(flags, terminal);
  const text = await readText(file, terminal);
  const validation = await client.post("validation", "/v1/rule-sets/validate", { text });
  if (!validation.valid) {
    for (const line of formatProblems(nameOf(file), validation.problems))
      terminal.writeError(`${line}\n`);
    return EXIT.no;
  }
  const isClear = flags.clearKeys === true;
  const answer = await client.send("preview", {
    method: "POST",
    path: "/v1/rule-sets/preview",
    body: { text, minutes, keys: isClear ? "clear" : "hashed" },
    headers: isClear ? { [CONFIRM_HEADER]: CONFIRM_CLEAR_KEYS } : {},
  });
  print(answer, () => toLines(answer));
  return EXIT.ok;
}

function toLines(answer: Preview): string[] {
  const { requests, callers, byKey, keysLeftOut, unjudgedRules } = answer;
  if (requests.total === 0)
    return ["no requests were sampled in that time: there is no traffic to judge by"];
  const wholeSecondsMs = Math.max(1, Math.round((answer.toMs - answer.fromMs) / 1_000)) * 1_000;
  const rows = byKey
    .slice(0, KEYS_MAX)
    .map(({ rule, key, newlyRefused, newlyAllowed }) => [
      safe(rule ?? "-"),
      safe(key ?? "-", 120),
      String(newlyRefused),
      String(newlyAllowed),
    ]);
  const left = keysLeftOut + Math.max(0, byKey.length - KEYS_MAX);
  return [
    `${callers.newlyRefused} of ${count(callers.total, "caller")} would be refused more often, ${callers.newlyAllowed} less often`,
    `${count(requests.total, "request")} in ${formatDuration(wholeSecondsMs)}: ${requests.refusedBefore} refused by the rules in force, ${requests.refusedAfter} by the file`,
    ...sayShare(answer.keysShare),
    ...(rows.length === 0
      ? []
      : formatTable(
          [["rule", "key", "newly refused", "newly allowed"], ...rows],
          ["left", "left", "right", "right"],
        )),
    ...(left === 0 ? [] : [`and ${count(left, "more key")}`]),
    ...unjudgedRules.map(({ rule, why }) => `${safe(rule)}: ${safe(why, 200)}`),
  ];
}

function sayShare(share: number): string[] {
  return share >= 1 ? [] : [`${(share * 100).toPrecision(2)} % of keys are in the sample`];
}

function toMinutes(given: string): number {
  if (/^[1-5]$/.test(given)) return Number(given);
  throw usageError(`--minutes must be a number from 1 to 5, got ${JSON.stringify(given)}`);
}
