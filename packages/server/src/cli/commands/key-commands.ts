// `sluice reset`, `refund`, `block` and `unblock`: what an operator does to one key of one rule.

import type { Command } from "commander";
import { formatDuration } from "sluice/shapes";
import type { ReplyOf } from "../../admin/replies/reply-schemas.js";
import { type AdminFlags, addAdminOptions, toClient } from "../admin-client/admin-options.js";
import { withRuleHint } from "../admin-client/rule-hint.js";
import { EXIT, usageError } from "../exit.js";
import { toUnits } from "../facts-options.js";
import { type Terminal, writeLine } from "../terminal/terminal.js";
import { safe } from "../text/colours.js";
import { parseDuration } from "../text/duration.js";
import { count } from "../text/rules.js";
import type { CommandParts } from "./command-parts.js";

interface Flags extends AdminFlags {
  readonly rule: string;
  readonly key: string;
  readonly for?: string;
  readonly cost?: string;
  readonly reason?: string;
}

/** How long a key is blocked unless it is said. */
const BLOCK_FOR = "10m";

/** Adds the four verbs. */
export function addKeyCommands(program: Command, { terminal, finish }: CommandParts): void {
  addVerb(program, "reset", "forget what a key used under a rule", RESET_HELP).action(
    async (flags: Flags) => {
      await ask("reset", {}, flags, terminal);
      print(flags, terminal, `${nameOf(flags)}: what was used is forgotten`);
      finish(EXIT.ok);
    },
  );
  addVerb(program, "refund", "refund units to a key, at most what it used", REFUND_HELP)
    .requiredOption("--cost <units>", "how many")
    .action(async (flags: Flags) => {
      const cost = toUnits("--cost", flags.cost ?? "");
      const { refunded } = await ask("refund", { cost }, flags, terminal);
      print(flags, terminal, `${nameOf(flags)}: ${sayRefund(refunded, cost)}`);
      finish(EXIT.ok);
    });
  addVerb(program, "block", "refuse every request of a key under a rule", BLOCK_HELP)
    .option("--for <duration>", "500ms, 90s, 10m, 2h, 1d or forever", BLOCK_FOR)
    .action(async (flags: Flags) => {
      const forMs = toForMs(flags.for ?? BLOCK_FOR);
      // JSON has no Infinity: null means no end.
      await ask("block", { forMs: Number.isFinite(forMs) ? forMs : null }, flags, terminal);
      const until = Number.isFinite(forMs)
        ? `for ${formatDuration(forMs)}`
        : "until it is unblocked";
      print(flags, terminal, `${nameOf(flags)}: blocked ${until}`);
      finish(EXIT.ok);
    });
  addVerb(program, "unblock", "end a block immediately", UNBLOCK_HELP).action(
    async (flags: Flags) => {
      const { wasBlocked } = await ask("unblock", {}, flags, terminal);
      print(flags, terminal, `${nameOf(flags)}: ${wasBlocked ? "unblocked" : "was not blocked"}`);
      finish(EXIT.ok);
    },
  );
}

function addVerb(program: Command, verb: KeyVerb, description: string, help: string): Command {
  const command = program
    .command(verb)
    .description(description)
    .requiredOption("--rule <id>", "the rule")
    .requiredOption("--key <key>", "the key, as the rule counts it: user:42, ip:203.0.113.10")
    .option("--reason <text>", "why, for the audit log of a control plane");
  return addAdminOptions(command).addHelpText("after", `${help}\n${KEYS_HELP}`);
}

const KEYS_HELP = `
\`sluice explain\` shows the key that a request is counted by.`;

const RESET_HELP = `
Blocks stay: \`sluice unblock\` ends them.

Example:
  $ sluice reset --rule login --key ip:203.0.113.10`;

const REFUND_HELP = `
Example:
  $ sluice refund --rule api --key user:42 --cost 100`;

const BLOCK_HELP = `
Examples:
  $ sluice block --rule login --key ip:203.0.113.10
  $ sluice block --rule api --key user:42 --for 2h`;

const UNBLOCK_HELP = `
Example:
  $ sluice unblock --rule login --key ip:203.0.113.10`;

type KeyVerb = "reset" | "refund" | "block" | "unblock";

async function ask<V extends KeyVerb>(
  verb: V,
  more: object,
  flags: Flags,
  terminal: Terminal,
): Promise<ReplyOf<V>> {
  const { rule, key, reason } = flags;
  const client = toClient(flags, terminal);
  const body = { rule, key, ...more, ...(reason === undefined ? {} : { reason }) };
  const question = () => client.post(verb, `/v1/${verb}`, body);
  const answer = await withRuleHint(client, rule, question);
  if (flags.json) writeLine(terminal, JSON.stringify(answer));
  return answer;
}

/** A key gets back at most what it used. */
function sayRefund(refunded: number, cost: number): string {
  const less = refunded < cost ? ` of ${cost}: no more was in use` : "";
  return `${count(refunded, "unit")} refunded${less}`;
}

function print({ json }: Flags, terminal: Terminal, line: string): void {
  if (!json) writeLine(terminal, line);
}

function nameOf({ rule, key }: Flags): string {
  return `${safe(rule)} ${safe(key, 200)}`;
}

function toForMs(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined) {
    throw usageError(
      `--for must be 500ms, 90s, 10m, 2h, 1d or forever, got ${JSON.stringify(text)}`,
    );
  }
  return ms;
}
