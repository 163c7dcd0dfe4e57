// `sluice rules pull`, `push`, `publish`, `rollback` and `history`: the rules of the control plane, versioned. `push` is
// made for CI: the same file twice is one version, and what another operator published is not overwritten unseen.

import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import type { Command } from "commander";
import type { ReplyOf } from "../../../admin/replies/reply-schemas.js";
import { mayActAs } from "../../../control/credentials/access-tokens.js";
import type { AdminClient } from "../../admin-client/admin-client.js";
import { CommandError, EXIT, type ExitCode, usageError } from "../../exit.js";
import { nameOf, readText } from "../../files.js";
import { safe } from "../../text/colours.js";
import { formatProblems } from "../../text/rules.js";
import type { CommandParts } from "../command-parts.js";
import {
  addVerb,
  formatTime,
  given,
  isMissing,
  LIST_OPTIONS,
  type ListFlags,
  printPage,
  toListPath,
  type VerbRun,
} from "./control-verb.js";
import { addPreviewCommand } from "./preview-command.js";

type RuleSet = ReplyOf<"ruleSet">;

interface PushFlags {
  readonly publish?: boolean;
  readonly note?: string;
  readonly expected?: string;
  readonly force?: boolean;
}

interface PublishFlags {
  readonly note?: string;
  readonly expected?: string;
}

/** Who publishes the rules of the configuration when a database is new. */
const SERVICE = "local";

/** Adds the verbs to `rules`. */
export function addRuleSetCommands(rules: Command, parts: CommandParts): void {
  addVerb<ListFlags>(rules, parts, {
    usage: "history",
    description: "list the versions of the rules in the control plane",
    options: LIST_OPTIONS,
    examples: ["rules history"],
    run: async (asking) => {
      const path = toListPath("/v1/rule-sets", asking.flags);
      printPage(asking, await asking.client.get("ruleSets", path), {
        head: ["version", "status", "based on", "note"],
        toRow: ({ number, status, basedOn, note }: Omit<RuleSet, "text">) => [
          String(number),
          status,
          basedOn === 0 ? "-" : String(basedOn),
          safe(note, 120),
        ],
        none: "there are no rules yet: sluice rules push FILE --publish",
      });
    },
  });
  addVerb<{ number?: string }>(rules, parts, {
    usage: "pull [file]",
    description: "print the published rules, or write them to a file",
    options: [["--number <version>", "another version than the published one"]],
    examples: ["rules pull", "rules pull rules.yaml --number 3"],
    run: async ({ client, args: [file], flags, print, terminal }) => {
      const which = flags.number === undefined ? "published" : toNumber("--number", flags.number);
      const version = await client.get("ruleSet", `/v1/rule-sets/${which}`);
      if (file !== undefined) await writeFile(file, version.text);
      if (file === undefined && flags.json !== true) terminal.write(version.text);
      else print(version, () => [`wrote version ${version.number} to ${file}`]);
    },
  });
  addVerb<PushFlags>(rules, parts, {
    usage: "push <file>",
    description: "upload rules as a draft, and publish them with --publish",
    isChange: true,
    options: [
      ["--publish", "publish them too"],
      ["--note <text>", "a note about the change, for people"],
      ["--expected <version>", "the published version that the file is based on"],
      ["--force", "replace what a token of another name published"],
    ],
    about: `Rules that are published already are left as they are, so CI can push on every run. Without --expected, a
version that a token of another name published is not replaced: pull it and merge, or add --force. So give CI a token
of its own: edits by a token of the same name are replaced.
Exits with 1 if the rules are invalid or such a version is in the way.`,
    examples: ["rules push rules.yaml --publish --note 'fewer logins'", "rules push rules.yaml"],
    run: push,
  });
  addVerb<PublishFlags>(rules, parts, {
    usage: "publish <version>",
    description: "publish a draft: every node enforces it",
    isChange: true,
    options: [
      ["--note <text>", "a note about the change, for people"],
      ["--expected <version>", "fail unless this version is the published one"],
    ],
    examples: ["rules publish 7 --note 'fewer logins'"],
    run: (asking) => put(asking, "publish"),
  });
  addVerb<PublishFlags>(rules, parts, {
    usage: "rollback <version>",
    description: "publish the rules of an earlier version again, as a new version",
    isChange: true,
    options: [
      ["--note <text>", "why, for people"],
      ["--expected <version>", "fail unless this version is the published one"],
    ],
    examples: ["rules rollback 6 --note 'too strict'"],
    run: (asking) => put(asking, "rollback"),
  });
  addPreviewCommand(rules, parts);
}

/** The published version; undefined if there is none. */
export async function findPublished(client: AdminClient): Promise<RuleSet | undefined> {
  try {
    return await client.get("ruleSet", "/v1/rule-sets/published");
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

async function put(asking: VerbRun<PublishFlags>, verb: "publish" | "rollback"): Promise<void> {
  const { client, args, flags, print } = asking;
  const number = toNumber("the version", args[0]);
  const version = await publish(client, number, verb, flags);
  print(version, () => [`published version ${version.number}`]);
}

function publish(
  client: AdminClient,
  number: number,
  verb: "publish" | "rollback",
  { note, expected, reason }: PublishFlags & { readonly reason?: string },
): Promise<RuleSet> {
  const body = given({
    note,
    reason,
    expected: expected === undefined ? undefined : toNumber("--expected", expected),
  });
  return client.send("ruleSet", { method: "POST", path: `/v1/rule-sets/${number}/${verb}`, body });
}

async function push(asking: VerbRun<PushFlags>): Promise<ExitCode> {
  const { client, args, flags, print, terminal } = asking;
  const [file] = args;
  const text = await readText(file, terminal);
  const validation = await client.post("validation", "/v1/rule-sets/validate", { text });
  if (!validation.valid) {
    for (const line of formatProblems(nameOf(file), validation.problems))
      terminal.writeError(`${line}\n`);
    return EXIT.no;
  }
  const published = await findPublished(client);
  if (published?.text === text) {
    print(published, () => [`${nameOf(file)}: published already, as version ${published.number}`]);
    return EXIT.ok;
  }
  const name = await mustBeAllowed(client, flags);
  if (published !== undefined && flags.force !== true)
    await mustBeOurs(client, published, { name, expected: flags.expected });
  const draft = await makeDraft(client, text, published?.number ?? 0, flags.reason);
  if (flags.publish !== true) {
    const { number } = draft;
    print(draft, () => [`${nameOf(file)}: draft ${number}; sluice rules publish ${number}`]);
    return EXIT.ok;
  }
  const expected = String(published?.number ?? 0);
  const version = await publish(client, draft.number, "publish", { ...flags, expected });
  print(version, () => [`${nameOf(file)}: published as version ${version.number}`]);
  return EXIT.ok;
}

/**
 * The name of the caller.
 *
 * @throws CommandError if its role does not suffice, before anything is made or --force is advised.
 */
async function mustBeAllowed(client: AdminClient, flags: PushFlags): Promise<string> {
  const { name, role } = await client.get("session", "/v1/session");
  const needed = flags.publish === true ? "admin" : "operator";
  if (mayActAs(role, needed)) return name;
  const what = flags.publish === true ? "push --publish" : "push";
  const seen = `${what} needs the role ${needed}, and ${safe(name)} has the role ${role}`;
  throw new CommandError(EXIT.unreachable, `${seen}; use a token with that role`);
}

/** A draft of these rules: the one that an earlier push made of them, if it is still as it was. */
async function makeDraft(
  client: AdminClient,
  text: string,
  basedOn: number,
  reason: string | undefined,
): Promise<RuleSet> {
  const key = createHash("sha256")
    .update(JSON.stringify([basedOn, reason, text]))
    .digest("base64url");
  const request = { method: "POST", path: "/v1/rule-sets", body: given({ text, reason }) } as const;
  const draft = await client.send("ruleSet", { ...request, headers: { "idempotency-key": key } });
  const isAsItWas = draft.status === "draft" && draft.text === text;
  return isAsItWas ? draft : client.send("ruleSet", request);
}

/** @throws CommandError if another operator published the version that would be replaced. */
async function mustBeOurs(
  client: AdminClient,
  { number, note }: RuleSet,
  { name, expected }: { readonly name: string; readonly expected: string | undefined },
): Promise<void> {
  if (expected !== undefined) {
    if (toNumber("--expected", expected) === number) return;
    throw inTheWay(`version ${number} is published, and the file is based on ${expected}`);
  }
  const query = `kind=rule-set&id=${number}&action=publish&limit=1&bodies=none`;
  const [publishing] = (await client.get("audit", `/v1/audit?${query}`)).items;
  if (publishing === undefined || publishing.actor === name || publishing.actor === SERVICE) return;
  const by = `${safe(publishing.actor)} published version ${number} (${formatTime(publishing.atMs)})`;
  throw inTheWay(note === "" ? by : `${by}: ${safe(note, 120)}`);
}

function inTheWay(what: string): CommandError {
  const how = "pull it and merge, then push with --expected; or replace it with --force";
  return new CommandError(EXIT.no, `${what}; ${how}`);
}

function toNumber(option: string, text: string | undefined): number {
  if (/^\d{1,10}$/.test(text ?? "")) return Number(text);
  throw usageError(`${option} must be the number of a version, got ${JSON.stringify(text ?? "")}`);
}
