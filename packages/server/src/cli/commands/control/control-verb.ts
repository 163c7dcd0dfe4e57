// What the verbs of the control plane have in common: they ask the admin port, print a table for people or one line of
// JSON for programs, and say why a change is made.

import { isDeepStrictEqual } from "node:util";
import type { Command } from "commander";
import type { ReplyName, ReplyOf } from "../../../admin/replies/reply-schemas.js";
import { wallMs } from "../../../base/clock.js";
import { type AdminClient, NotFoundError } from "../../admin-client/admin-client.js";
import { type AdminFlags, addAdminOptions, toClient } from "../../admin-client/admin-options.js";
import { EXIT, type ExitCode, usageError } from "../../exit.js";
import { toPair } from "../../facts-options.js";
import { type Terminal, writeLine } from "../../terminal/terminal.js";
import { safe } from "../../text/colours.js";
import { parseDuration } from "../../text/duration.js";
import { formatTable } from "../../text/table.js";
import type { CommandParts } from "../command-parts.js";

/** What a verb is given when it runs. */
export interface VerbRun<F> {
  readonly client: AdminClient;
  readonly terminal: Terminal;
  /** Arguments; those that were left out are undefined. */
  readonly args: readonly string[];
  readonly flags: F & ControlFlags;
  /** Prints an answer: as JSON if that was asked for, else as these lines. */
  print(answer: unknown, lines: () => readonly string[]): void;
}

/** Options that every verb has. */
export interface ControlFlags extends AdminFlags {
  readonly reason?: string;
}

/** A verb. */
export interface VerbOptions<F> {
  /** Its name and arguments: `show <id>`. */
  readonly usage: string;
  readonly description: string;
  /** Whether it changes something: it takes a reason then. Default false. */
  readonly isChange?: boolean;
  /** Further options: `--tier <name>` and what it is. */
  readonly options?: readonly (readonly [flags: string, description: string])[];
  /** Options that have to be given. */
  readonly required?: readonly (readonly [flags: string, description: string])[];
  /** Options that may be given more than once. */
  readonly repeated?: readonly (readonly [flags: string, description: string])[];
  /** What else `--help` says. */
  readonly about?: string;
  readonly examples: readonly string[];
  /** How long an answer may take, in milliseconds. Default 10,000. */
  readonly answerMsMax?: number;
  /** Default exit code: 0. */
  run(asking: VerbRun<F>): Promise<ExitCode> | Promise<void>;
}

/** Adds a verb to a command. */
export function addVerb<F>(
  parent: Command,
  { terminal, finish }: CommandParts,
  options: VerbOptions<F>,
): void {
  const command = parent.command(options.usage).description(options.description);
  for (const [flags, about] of options.required ?? [])
    command.requiredOption(flags, `${about} (required)`);
  for (const [flags, about] of options.options ?? []) command.option(flags, about);
  for (const [flags, about] of options.repeated ?? []) addRepeated(command, flags, about);
  if (options.isChange === true) command.option("--reason <text>", "why, for the audit log");
  addAdminOptions(command).addHelpText("after", toHelp(options));
  command.action(async (...given: unknown[]) => {
    const flags = command.opts<F & ControlFlags>();
    const args = given.slice(0, -2).flat() as string[];
    const print = (answer: unknown, lines: () => readonly string[]) => {
      const printed = flags.json === true ? [JSON.stringify(answer)] : lines();
      for (const line of printed) writeLine(terminal, line);
    };
    const code = await options.run({
      client: toClient(flags, terminal, options.answerMsMax),
      terminal,
      args,
      flags,
      print,
    });
    finish(code ?? EXIT.ok);
  });
}

/** How something is removed. */
export interface RemovalOptions
  extends Pick<VerbOptions<ControlFlags>, "usage" | "description" | "examples"> {
  /** Where entities of that kind are: `/v1/plans`. */
  readonly path: string;
  /** What is printed of it: `removed`. */
  readonly done: string;
}

/** Adds a verb that removes what its argument names. */
export function addRemoval(
  parent: Command,
  parts: CommandParts,
  { path: at, done, ...verb }: RemovalOptions,
): void {
  addVerb<ControlFlags>(parent, parts, {
    ...verb,
    isChange: true,
    run: async ({ client, args: [id], flags, print }) => {
      const path = `${at}/${encode(id)}`;
      const body = given({ reason: flags.reason });
      const answer = await client.send("removed", { method: "DELETE", path, body });
      print(answer, () => [`${safe(id)}: ${done}`]);
    },
  });
}

/** Its value is a list, an empty one by default, which help need not say. */
function addRepeated(command: Command, flags: string, about: string): void {
  const option = command.createOption(flags, about).argParser(collect);
  command.addOption(option).setOptionValue(option.attributeName(), []);
}

function collect(value: string, all: readonly string[]): readonly string[] {
  return [...all, value];
}

function toHelp<F>({ about, examples }: VerbOptions<F>): string {
  const lines = examples.map((example) => `  $ sluice ${example}`);
  const title = examples.length === 1 ? "Example:" : "Examples:";
  return `${about === undefined ? "" : `\n${about}\n`}\n${title}\n${lines.join("\n")}`;
}

/** The options of every list. */
export const LIST_OPTIONS = [
  ["--limit <count>", "how many, at most 1000 (default: 100)"],
  ["--after <cursor>", "continue after the last item of the previous page"],
] as const;

/** What they say. */
export interface ListFlags {
  readonly limit?: string;
  readonly after?: string;
}

/** The path of a list, with its page and filters. */
export function toListPath(
  path: string,
  { limit, after }: ListFlags,
  filters: Readonly<Record<string, string | undefined>> = {},
): string {
  const given = Object.entries({ limit, after, ...filters }).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value]],
  );
  const query = new URLSearchParams(given as [string, string][]).toString();
  return query === "" ? path : `${path}?${query}`;
}

/** Prints a page as a table, and how to get the next one. */
export function printPage<N extends ReplyName, I>(
  { print, terminal, flags }: VerbRun<unknown>,
  page: ReplyOf<N> & { readonly items: readonly I[]; readonly next: string | null },
  {
    head,
    toRow,
    none,
  }: {
    readonly head: readonly string[];
    readonly toRow: (item: I) => readonly string[];
    /** What is said if there is nothing. */
    readonly none: string;
  },
): void {
  print(page, () =>
    page.items.length === 0 ? [none] : formatTable([head, ...page.items.map(toRow)]),
  );
  if (page.next !== null && flags.json !== true)
    terminal.writeError(`there are more: add --after ${safe(page.next, 300)}\n`);
}

/** `2026-11-16 04:10 UTC`, or a word for a time that never comes. */
export function formatTime(ms: number | undefined, never = "never"): string {
  if (ms === undefined) return never;
  const date = new Date(ms);
  if (Number.isNaN(date.getTime())) return never;
  return `${date.toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

/** The end of a duration that starts now; undefined for `forever`. @throws CommandError for anything else. */
export function toEndMs(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const ms = toMs(option, text);
  return Number.isFinite(ms) ? wallMs() + ms : undefined;
}

/** Milliseconds of a duration. @throws CommandError if it is not one. */
export function toMs(option: string, text: string): number {
  const ms = parseDuration(text);
  if (ms !== undefined) return ms;
  throw usageError(
    `${option} must be 500ms, 90s, 10m, 2h, 1d or forever, got ${JSON.stringify(text)}`,
  );
}

/** What is there with the pairs of a repeated option: `name=value` sets a value, `name=` removes it. */
export function withPairs(
  current: Readonly<Record<string, unknown>> | undefined,
  option: string,
  texts: readonly string[],
  toValue: (text: string) => unknown,
): Record<string, unknown> {
  const values: Record<string, unknown> = { ...current };
  for (const text of texts) {
    const [name, value] = toPair(option, text);
    if (value === "") delete values[name];
    else values[name] = toValue(value);
  }
  return values;
}

/** A limit as an option says it: a rate, `unlimited`, or JSON. */
export function toLimit(option: string, text: string): unknown {
  if (!/^[[{]/.test(text)) return text;
  try {
    return JSON.parse(text);
  } catch {
    throw usageError(`${option} must be a rate such as 100/minute, unlimited or JSON, got ${text}`);
  }
}

/** A limit as people read it. */
export function sayLimit(limit: unknown): string {
  return safe(typeof limit === "string" ? limit : JSON.stringify(limit), 120);
}

/** A part of a path. */
export function encode(part: string): string {
  return encodeURIComponent(part);
}

/** The fields that were given. */
export function given(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/**
 * Replaces some fields of an entity and keeps the others, or makes it. What another operator changes in between is
 * never overwritten.
 */
export async function edit<N extends ReplyName>(
  { client, terminal }: Pick<VerbRun<unknown>, "client" | "terminal">,
  name: N,
  path: string,
  toBody: (current: Record<string, unknown>) => Record<string, unknown>,
): Promise<ReplyOf<N>> {
  const current = await findOr<N>(client, name, path);
  const { id: _, revision, ...fields } = (current ?? {}) as Record<string, unknown>;
  const { reason: __, ...said } = toBody(fields);
  if (current !== undefined && isDeepStrictEqual(asSent(said), asSent(fields))) {
    terminal.writeError("nothing changed: it already has these values\n");
    return current;
  }
  const condition: Record<string, string> =
    current === undefined ? { "if-none-match": "*" } : { "if-match": `"${revision}"` };
  return client.send(name, { method: "PUT", path, body: toBody(fields), headers: condition });
}

/** A body as it is sent: without fields that are undefined. */
function asSent(body: Record<string, unknown>): unknown {
  return JSON.parse(JSON.stringify(body));
}

async function findOr<N extends ReplyName>(
  client: AdminClient,
  name: N,
  path: string,
): Promise<ReplyOf<N> | undefined> {
  try {
    return await client.get(name, path);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** Whether a service has a control plane, and what was asked for is not in it. */
export function isMissing(error: unknown): boolean {
  return error instanceof NotFoundError && !error.message.includes("needs a control plane");
}
