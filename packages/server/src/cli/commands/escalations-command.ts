// `sluice escalations`: the keys that a node has blocked because they kept exceeding a limit.

import type { Command } from "commander";
import { CONFIRM_CLEAR_KEYS, CONFIRM_HEADER } from "../../admin/auth/clear-keys.js";
import type { ReplyOf } from "../../admin/replies/reply-schemas.js";
import { type AdminFlags, addAdminOptions, toClient } from "../admin-client/admin-options.js";
import { EXIT } from "../exit.js";
import { type Terminal, writeLine } from "../terminal/terminal.js";
import { safe } from "../text/colours.js";
import { formatBlocked } from "../text/duration.js";
import { formatTable } from "../text/table.js";
import type { CommandParts } from "./command-parts.js";
import { mustBeMeant, mustBeRule } from "./top-command.js";

interface Flags extends AdminFlags {
  readonly rule?: string;
  readonly limit?: string;
  readonly clearKeys?: boolean;
  readonly yes?: boolean;
}

const KEY_LENGTH_MAX = 200;

/** Adds the verb. */
export function addEscalationsCommand(program: Command, { terminal, finish }: CommandParts): void {
  const command = program
    .command("escalations")
    .description("list the keys that a node has blocked by escalation, hashed, the latest first")
    .option("--rule <id>", "only this rule")
    .option("--limit <count>", "how many keys to list, at most 1,000 (default: 100)")
    .option("--clear-keys", "show keys in clear; asks first, and the service logs it")
    .option("--yes", "with --clear-keys: don't ask");
  addAdminOptions(command)
    .addHelpText("after", HELP)
    .action(async (flags: Flags) => {
      await list(flags, terminal);
      finish(EXIT.ok);
    });
}

const HELP = `
\`sluice unblock\` ends a block. It needs the key in clear.

Examples:
  $ sluice escalations
  $ sluice escalations --rule login --clear-keys`;

async function list(flags: Flags, terminal: Terminal): Promise<void> {
  const { rule, limit, clearKeys } = flags;
  const client = toClient(flags, terminal);
  await mustBeMeant(flags, terminal);
  if (rule !== undefined) await mustBeRule(client, rule);
  const query = new URLSearchParams({
    ...(rule === undefined ? {} : { rule }),
    ...(limit === undefined ? {} : { limit }),
    ...(clearKeys ? { keys: "clear" } : {}),
  });
  const path = query.size === 0 ? "/v1/escalations" : `/v1/escalations?${query}`;
  const headers = clearKeys ? { [CONFIRM_HEADER]: CONFIRM_CLEAR_KEYS } : {};
  const answer = await client.get("escalations", path, headers);
  const lines = flags.json ? [JSON.stringify(answer)] : formatEscalations(answer);
  for (const line of lines) writeLine(terminal, line);
}

function formatEscalations({ items }: ReplyOf<"escalations">): string[] {
  if (items.length === 0) return ["no key is blocked by an escalation of this node"];
  const rows = items.map(({ rule, key, level, blockedMs }) => [
    safe(rule),
    safe(key, KEY_LENGTH_MAX),
    String(level),
    formatBlocked(blockedMs),
  ]);
  return formatTable([["rule", "key", "level", "blocked"], ...rows], ["left", "left", "right"]);
}
