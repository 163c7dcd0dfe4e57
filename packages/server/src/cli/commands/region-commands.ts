// `sluice regions show` and `sluice regions promote`: which region is home, and making another one home.

import type { Command } from "commander";
import { formatDuration } from "sluice/shapes";
import type { ReplyOf } from "../../admin/replies/reply-schemas.js";
import { type AdminFlags, addAdminOptions, toClient } from "../admin-client/admin-options.js";
import { EXIT } from "../exit.js";
import { writeLine } from "../terminal/terminal.js";
import { safe } from "../text/colours.js";
import type { CommandParts } from "./command-parts.js";

interface Flags extends AdminFlags {
  readonly oldHomeStopped?: boolean;
  readonly reason?: string;
}

/** Adds `regions` to the program. */
export function addRegionCommands(program: Command, { terminal, finish }: CommandParts): void {
  const regions = program.command("regions").description("the home region and its standby");
  addAdminOptions(regions.command("show").description("show which region is home"))
    .addHelpText("after", SHOW_HELP)
    .action(async (flags: Flags) => {
      const answer = await toClient(flags, terminal).get("regions", "/v1/regions");
      const lines = flags.json ? [JSON.stringify(answer)] : formatRegions(answer);
      for (const line of lines) writeLine(terminal, line);
      finish(answer.isOpen ? EXIT.ok : EXIT.no);
    });
  const promote = regions
    .command("promote")
    .description("make a region the home region")
    .argument("<region>", "the configured home region or its standby")
    .option("--old-home-stopped", "the old home region's Redis is stopped and can't be fenced")
    .option("--reason <text>", "why, for the audit log of a control plane");
  addAdminOptions(promote)
    .addHelpText("after", PROMOTE_HELP)
    .action(async (region: string, flags: Flags) => {
      const { oldHomeStopped = false, reason } = flags;
      const said = reason === undefined ? {} : { reason };
      const body = { region, oldHomeStopped, ...said };
      const client = toClient(flags, terminal);
      const answer = await client.post("promotion", "/v1/regions/promote", body);
      writeLine(terminal, flags.json ? JSON.stringify(answer) : formatPromotion(answer));
      finish(EXIT.ok);
    });
}

function formatRegions(answer: ReplyOf<"regions">): readonly string[] {
  const { home, epoch, isOpen, homeForMs, isContested, standby, self } = answer;
  const name = home === null ? "unknown" : `${safe(home)} (epoch ${epoch})`;
  const other =
    home === standby
      ? `the configured home region, since ${safe(standby)} was promoted`
      : `${safe(standby)} as configured`;
  return [
    `home     ${name}, ${describe(isOpen, homeForMs, isContested)}`,
    `standby  ${other}; this node is in ${safe(self)}`,
    `fence    ${answer.fenceRefusals} calls of this node were refused by a store that is not home`,
  ];
}

function describe(isOpen: boolean, homeForMs: number | null, isContested: boolean): string {
  if (isContested) return "claimed by both regions: promote one of them";
  if (isOpen && homeForMs !== null) return `for ${formatDuration(wholeSeconds(homeForMs))}`;
  if (homeForMs !== null && homeForMs < 0) {
    return `opens in ${formatDuration(wholeSeconds(-homeForMs))}`;
  }
  return "not deciding: its permission has ended, or its store can't be reached";
}

function formatPromotion(answer: ReplyOf<"promotion">): string {
  const { home, epoch, isOldHomeFenced, opensInMs } = answer;
  const old = isOldHomeFenced ? "the old home is fenced" : "the old home could not be fenced";
  const when = `opens in ${formatDuration(wholeSeconds(opensInMs))}`;
  return `${safe(home)} is home under epoch ${epoch}: ${when}; ${old}`;
}

function wholeSeconds(ms: number): number {
  return Math.ceil(ms / 1_000) * 1_000;
}

const SHOW_HELP = `
The exit code is 1 while no region decides.

Example:
  $ sluice regions show`;

const PROMOTE_HELP = `
The old home region is fenced first: its Redis refuses every later decision. If it can't be reached, the promotion is
refused, unless takeover is automatic or you pass --old-home-stopped, which asserts that no node can reach it. If a node
can, both regions admit up to the limit.

Examples:
  $ sluice regions promote us
  $ sluice regions promote us --old-home-stopped --reason "eu is down"`;
