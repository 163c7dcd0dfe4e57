// `sluice top`: a live view of a running service, drawn again every second until the user ends it.

import type { Command } from "commander";
import { CONFIRM_CLEAR_KEYS, CONFIRM_HEADER } from "../../admin/auth/clear-keys.js";
import type { ReplyOf } from "../../admin/replies/reply-schemas.js";
import { pause } from "../../base/clock.js";
import type { AdminClient } from "../admin-client/admin-client.js";
import { type AdminFlags, addAdminOptions, toClient } from "../admin-client/admin-options.js";
import { ruleHint } from "../admin-client/rule-hint.js";
import { CommandError, EXIT, usageError } from "../exit.js";
import { Screen } from "../terminal/screen.js";
import { type Terminal, writeLine } from "../terminal/terminal.js";
import { coloursFor } from "../text/colours.js";
import { drawTop, type ScreenSize, type TopView } from "../text/top.js";
import type { CommandParts } from "./command-parts.js";

type TopAnswer = ReplyOf<"top">;

interface Flags extends AdminFlags {
  readonly once?: boolean;
  readonly rule?: string;
  readonly every?: string;
  readonly clearKeys?: boolean;
  readonly yes?: boolean;
}

/** Between two frames, unless it is said. */
const EVERY_SECONDS = "1";
/** Lines of a frame that is printed once. */
const ROWS_MAX = 1_000;

/** Adds the verb. */
export function addTopCommand(program: Command, { terminal, finish }: CommandParts): void {
  const command = program
    .command("top")
    .description("show the busiest rules and their hottest keys, hashed, live")
    .option("--rule <id>", "only this rule")
    .option("--clear-keys", "show keys in clear; asks first, and the service logs it")
    .option("--yes", "with --clear-keys: don't ask")
    .option("--once", "print one frame and end")
    .option("--every <seconds>", "seconds between two frames", EVERY_SECONDS);
  addAdminOptions(command)
    .addHelpText("after", HELP)
    .action(async (flags: Flags) => {
      await runTop(flags, terminal);
      finish(EXIT.ok);
    });
}

const HELP = `
Ctrl-C ends it, and the terminal is as it was before. Outside a terminal it prints frames one after
the other; with --json one line of JSON for each.

Examples:
  $ sluice top
  $ sluice top --once --json
  $ sluice top --rule login --every 5`;

async function runTop(flags: Flags, terminal: Terminal): Promise<void> {
  const client = toClient(flags, terminal);
  const everyMs = toEveryMs(flags.every ?? EVERY_SECONDS);
  const path = toPath(flags);
  await mustBeMeant(flags, terminal);
  const headers = flags.clearKeys ? { [CONFIRM_HEADER]: CONFIRM_CLEAR_KEYS } : {};
  const ask = () => client.get("top", path, headers);
  if (flags.rule !== undefined) await mustBeRule(client, flags.rule);
  const first = await ask();
  if (flags.once || flags.json) show(first, flags, client, terminal);
  if (flags.once) return;
  await watch({ client, ask, flags, terminal, everyMs, first });
}

/** A rule that does not exist would look like one that no request has met. */
export async function mustBeRule(client: AdminClient, ruleId: string): Promise<void> {
  const hint = await ruleHint(client, ruleId);
  if (hint === undefined) return;
  throw new CommandError(EXIT.usage, `there is no rule ${JSON.stringify(ruleId)}; ${hint}`);
}

/** Keys in clear are addresses and names of users, so showing them needs a confirmation. */
export async function mustBeMeant(
  { clearKeys, yes }: Pick<Flags, "clearKeys" | "yes">,
  terminal: Terminal,
): Promise<void> {
  if (!clearKeys || yes) return;
  if (!terminal.isTty) throw usageError("--clear-keys asks in a terminal; elsewhere add --yes");
  const question =
    "Show keys as they are, such as addresses and users? The service logs it. [y/N] ";
  if (!(await terminal.confirm(question))) throw usageError("not confirmed: no keys are shown");
}

function toPath({ rule, clearKeys }: Flags): string {
  const query = new URLSearchParams({
    ...(rule === undefined ? {} : { rule }),
    ...(clearKeys ? { keys: "clear" } : {}),
  });
  return query.size === 0 ? "/v1/top" : `/v1/top?${query}`;
}

interface Watch {
  readonly client: AdminClient;
  readonly ask: () => Promise<TopAnswer>;
  readonly flags: Flags;
  readonly terminal: Terminal;
  readonly everyMs: number;
  readonly first: TopAnswer;
}

async function watch({ client, ask, flags, terminal, everyMs, first }: Watch): Promise<void> {
  const screen = new Screen(terminal);
  const ended = new AbortController();
  const end = () => ended.abort();
  const forget = [terminal.onEnd(end), terminal.onUnread(end)];
  let view = toView(first, client);
  try {
    while (!ended.signal.aborted) {
      if (!flags.json) screen.draw(drawTop(view, roomOf(terminal), coloursFor(terminal)));
      await pause(everyMs, ended.signal);
      if (ended.signal.aborted) break;
      view = await next(view, client, ask, terminal);
      if (flags.json) writeLine(terminal, JSON.stringify(view.report));
    }
  } finally {
    for (const forgetOne of forget) forgetOne();
    screen.close();
  }
}

/** The next view. In a terminal a service that is unavailable is said and asked again; elsewhere it is the end. */
async function next(
  view: TopView,
  client: AdminClient,
  ask: () => Promise<TopAnswer>,
  terminal: Terminal,
): Promise<TopView> {
  try {
    return toView(await ask(), client);
  } catch (error) {
    if (!terminal.isTty || !(error instanceof CommandError)) throw error;
    return { ...view, problem: error.message };
  }
}

function show(answer: TopAnswer, flags: Flags, client: AdminClient, terminal: Terminal): void {
  // Printed once, a frame may be longer than the terminal is high.
  const room = { ...roomOf(terminal), rows: ROWS_MAX };
  const lines = flags.json
    ? [JSON.stringify(answer)]
    : drawTop(toView(answer, client), room, coloursFor(terminal));
  for (const line of lines) writeLine(terminal, line);
}

/** Files and pipes have no width: nothing is cut there. */
function roomOf(terminal: Terminal): ScreenSize {
  const { columns, rows } = terminal.size();
  return { columns: terminal.isTty ? columns : Number.POSITIVE_INFINITY, rows };
}

function toView(report: TopAnswer, { name }: AdminClient): TopView {
  return { name, version: report.version, report };
}

function toEveryMs(text: string): number {
  const seconds = Number(text);
  if (!(seconds >= 0.1 && seconds <= 3_600)) {
    throw usageError(
      `--every must be a number of seconds from 0.1 to 3600, got ${JSON.stringify(text)}`,
    );
  }
  return seconds * 1_000;
}
