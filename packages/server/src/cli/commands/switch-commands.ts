// `sluice reload` and `sluice rules list`, `disable` and `enable`: the rules of a running service, read
// again or switched off and on.

import type { Command } from "commander";
import type { ReplyOf } from "../../admin/replies/reply-schemas.js";
import type { AdminClient } from "../admin-client/admin-client.js";
import { type AdminFlags, addAdminOptions, toClient } from "../admin-client/admin-options.js";
import { withRuleHint } from "../admin-client/rule-hint.js";
import { EXIT, usageError } from "../exit.js";
import { writeLine } from "../terminal/terminal.js";
import { safe } from "../text/colours.js";
import { formatRulesInForce } from "../text/rules.js";
import type { CommandParts } from "./command-parts.js";

type RulesAnswer = ReplyOf<"rules">;

interface Flags extends AdminFlags {
  readonly all?: boolean;
  readonly reason?: string;
}

/** Adds `reload` to the program. */
export function addReloadCommand(program: Command, { terminal, finish }: CommandParts): void {
  const command = program
    .command("reload")
    .description("make a running service reload its rules and configuration");
  addAdminOptions(command)
    .addHelpText("after", RELOAD_HELP)
    .action(async (flags: Flags) => {
      const answer = await toClient(flags, terminal).post("reload", "/v1/reload", {});
      const words = `reloaded: rules of version ${safe(answer.version)}`;
      writeLine(terminal, flags.json ? JSON.stringify(answer) : words);
      if (answer.hasUnusedRules === true) terminal.writeError(UNUSED_RULES);
      finish(EXIT.ok);
    });
}

const UNUSED_RULES =
  "the rules of the configuration are not used: those of the control plane stay in force; " +
  "to change them: sluice rules push FILE --publish\n";

const RELOAD_HELP = `
Invalid files change nothing: the problems are printed, and the exit code is 1.

Example:
  $ sluice reload`;

/** Adds the verbs that ask a running service to `rules`. */
export function addSwitchCommands(rules: Command, { terminal, finish }: CommandParts): void {
  const ask = async (flags: Flags, question: (client: AdminClient) => Promise<RulesAnswer>) => {
    const answer = await question(toClient(flags, terminal));
    const words = () => formatRulesInForce(answer);
    for (const line of flags.json ? [JSON.stringify(answer)] : words()) writeLine(terminal, line);
    finish(EXIT.ok);
  };
  addAdminOptions(rules.command("list").description("list the rules of a running service"))
    .addHelpText("after", LIST_HELP)
    .action((flags: Flags) => ask(flags, (client) => client.get("rules", "/v1/rules")));
  for (const [verb, description] of Object.entries(VERBS)) {
    const command = rules
      .command(verb)
      .description(description)
      .argument("[rule]", "the rule")
      .option("--all", "all rules, instead of one")
      .option("--reason <text>", "why, for the audit log of a control plane");
    addAdminOptions(command)
      .addHelpText("after", toHelp(verb))
      .action((rule: string | undefined, flags: Flags) =>
        ask(flags, (client) => {
          const question = () =>
            client.post("rules", `/v1/rules${toPart(rule, flags)}/${verb}`, toReason(flags));
          return rule === undefined ? question() : withRuleHint(client, rule, question);
        }),
      );
  }
}

const VERBS = {
  disable: "switch a rule of a running service off: requests pass it and nothing is counted",
  enable: "switch on again what disable switched off",
} as const;

const LIST_HELP = `
Example:
  $ sluice rules list`;

function toHelp(verb: string): string {
  return `
A rule that is switched off stays off over reloads, until it is switched on or the service restarts. With a control
plane, this holds on every node and over restarts, as with \`sluice switch\`.

Examples:
  $ sluice rules ${verb} login
  $ sluice rules ${verb} --all`;
}

function toReason({ reason }: Flags): object {
  return reason === undefined ? {} : { reason };
}

function toPart(rule: string | undefined, { all }: Flags): string {
  if ((rule === undefined) === (all !== true)) throw usageError("name a rule, or use --all");
  return rule === undefined ? "" : `/${encodeURIComponent(rule)}`;
}
