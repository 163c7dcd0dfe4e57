// `sluice check`, `peek` and `explain`: a request described on the command line, decided, looked at or
// explained by a running service.

import type { Command } from "commander";
import type { Explanation } from "sluice/rules";
import { type AdminFlags, addAdminOptions, toClient } from "../admin-client/admin-options.js";
import { EXIT, type Finish } from "../exit.js";
import { addFactsOptions, type FactsFlags, toFacts, toUnits } from "../facts-options.js";
import { type Terminal, writeLine } from "../terminal/terminal.js";
import { type Colours, coloursFor, safe } from "../text/colours.js";
import { type DecisionReply, formatDecision } from "../text/decision-text.js";
import { formatExplanation } from "../text/explanation.js";
import type { CommandParts } from "./command-parts.js";

interface Flags extends AdminFlags, FactsFlags {
  readonly cost?: string;
  readonly all?: boolean;
}

/** Adds the three verbs. */
export function addAskCommands(program: Command, { terminal, finish }: CommandParts): void {
  const ask = (verb: Verb, flags: Flags) => askService(verb, flags, terminal, finish);
  addVerb(program, "check", "decide a request under the rules, and charge it if it passes")
    .option("--cost <units>", "what it costs under every rule (default: what the rules say)")
    .action((flags: Flags) => ask("check", flags));
  addVerb(program, "peek", "show what check would answer, and charge nothing")
    .option("--cost <units>", "what it would cost under every rule (default: what the rules say)")
    .action((flags: Flags) => ask("peek", flags));
  addVerb(program, "explain", "show which rules apply to a request and why; charges nothing")
    .option("--cost <units>", "what it would cost under every rule (default: what the rules say)")
    .option("--all", "also list rules that don't match")
    .action((flags: Flags) => ask("explain", flags));
}

type Verb = "check" | "peek" | "explain";

function addVerb(program: Command, verb: Verb, description: string): Command {
  const command = program.command(verb).description(description);
  addAdminOptions(addFactsOptions(command));
  return command.addHelpText("after", toHelp(verb));
}

function toHelp(verb: Verb): string {
  return `
Exits with 0 if the request is allowed, 1 if it is refused.

Examples:
  $ sluice ${verb} --method POST --path /login --ip 203.0.113.10
  $ sluice ${verb} --path /api/orders --user 42 --tier pro --json
  $ echo '{"path":"/api/orders","tenant":"acme"}' | sluice ${verb} --facts -`;
}

async function askService(
  verb: Verb,
  flags: Flags,
  terminal: Terminal,
  finish: Finish,
): Promise<void> {
  const client = toClient(flags, terminal);
  const facts = await toFacts(flags, terminal);
  const answer = await client.post(verb, `/v1/${verb}`, {
    facts,
    ...toCost(flags),
    ...toAll(flags),
  });
  const lines = flags.json
    ? [JSON.stringify(answer)]
    : sayAnswer(verb, answer, coloursFor(terminal));
  for (const line of lines) writeLine(terminal, line);
  if (answer.reason === "identity" && !flags.json) {
    const { rules } = await client.post("explain", "/v1/explain", { facts });
    const keyType = rules.find(({ rule }) => rule === answer.rule)?.keyType;
    if (keyType !== undefined) terminal.writeError(`${sayMissing(answer.rule, keyType)}\n`);
  }
  finish(answer.allowed ? EXIT.ok : EXIT.no);
}

const OPTIONS: Readonly<Record<string, string>> = {
  ip: "--ip",
  ipPrefix: "--ip",
  asn: "--ip",
  country: "--ip",
  user: "--user",
  tenant: "--tenant",
  apiKey: "--api-key-hash",
  header: "--header",
  attribute: "--attribute",
};

/** `login counts by ip: add --ip`. */
function sayMissing(rule: string | null | undefined, keyType: string): string {
  const options = keyType.split("|").flatMap((part) => OPTIONS[part.split(":", 1)[0]] ?? []);
  const how = options.length === 0 ? "describe it with --facts" : `add ${options.join(" and ")}`;
  return `${safe(rule ?? "the rule")} counts by ${safe(keyType)}: ${how}`;
}

function sayAnswer(verb: Verb, answer: unknown, colours: Colours): string[] {
  return verb === "explain"
    ? formatExplanation(answer as Explanation, colours)
    : [formatDecision(answer as DecisionReply, colours)];
}

function toCost({ cost }: Flags): { readonly cost?: number } {
  return cost === undefined ? {} : { cost: toUnits("--cost", cost) };
}

function toAll({ all }: Flags): { readonly all?: boolean } {
  return all ? { all } : {};
}
