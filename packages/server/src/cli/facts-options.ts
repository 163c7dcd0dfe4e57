// Facts from the command line, as flags or as a file: the request that a command asks about.

import { isIP } from "node:net";
import type { Command } from "commander";
import { type Facts, nearestMethod, nearestName } from "sluice/rules";
import { facts as factsInput } from "../admin/routes/counters/counter-inputs.js";
import { usageError } from "./exit.js";
import { nameOf, readText } from "./files.js";
import type { Terminal } from "./terminal/terminal.js";

/** What the options say. */
export interface FactsFlags {
  readonly facts?: string;
  readonly method?: string;
  readonly path?: string;
  readonly host?: string;
  readonly ip?: string;
  readonly user?: string;
  readonly tenant?: string;
  readonly tier?: string;
  readonly apiKeyHash?: string;
  readonly header?: readonly string[];
  readonly attribute?: readonly string[];
}

/** Adds a flag for each fact to a verb. */
export function addFactsOptions(command: Command): Command {
  return command
    .option("--method <method>", "the method of the request (default: GET)")
    .option("--path <path>", "its path (default: /)")
    .option("--host <host>", "its host")
    .option("--ip <address>", "the client's address")
    .option("--user <user>", "the user")
    .option("--tenant <tenant>", "the tenant")
    .option("--tier <tier>", "the tier, which chooses among a rule's limits")
    .option("--api-key-hash <hash>", "the API key, hashed as the service hashes it")
    .option("--header <name=value>", "a header; may be given several times", collect)
    .option("--attribute <name=value>", "an attribute; may be given several times", collect)
    .option("--facts <file>", "facts in a JSON file (- for standard input); flags override it");
}

function collect(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}

/**
 * The facts that flags and file say together; a flag wins over the file.
 *
 * @throws CommandError if a flag or the file can't be read as facts.
 */
export async function toFacts(flags: FactsFlags, terminal: Terminal): Promise<Facts> {
  const given = flags.facts === undefined ? {} : await readFacts(flags.facts, terminal);
  const { method, path, host, ip, user, tenant, tier, apiKeyHash } = flags;
  const plain = { method, path, host, ip, user, tenant, tier, apiKeyHash };
  const headers = join("--header", flags.header, given.headers, (name) => name.toLowerCase());
  const attributes = join("--attribute", flags.attribute, given.attributes, (name) => name);
  mustBeAddress(ip ?? given.ip);
  mustBeMethod(method ?? given.method);
  return {
    method: "GET",
    path: "/",
    ...given,
    ...Object.fromEntries(Object.entries(plain).filter(([, value]) => value !== undefined)),
    ...(headers === undefined ? {} : { headers }),
    ...(attributes === undefined ? {} : { attributes }),
  };
}

/** Anything else would be counted as a client that there can't be. */
function mustBeAddress(ip: unknown): void {
  if (ip === undefined || (typeof ip === "string" && isIP(ip) !== 0)) return;
  throw usageError(`--ip must be an address such as 203.0.113.10, got ${JSON.stringify(ip)}`);
}

/** Rules would not match a misspelt one, and what is explained would be about another request. */
function mustBeMethod(method: unknown): void {
  const meant = typeof method === "string" ? nearestMethod(method) : undefined;
  if (meant === undefined) return;
  throw usageError(
    `--method must be a method, got ${JSON.stringify(method)}; did you mean ${meant}?`,
  );
}

/** The facts that a file may have. */
const FACTS = Object.keys(factsInput.fields);

function mustBeFact(name: string, file: string): void {
  if (FACTS.includes(name)) return;
  const nearest = nearestName(name, FACTS);
  const hint = nearest === undefined ? "" : `did you mean ${nearest}? `;
  throw usageError(
    `${file}: unknown fact ${JSON.stringify(name)}; ${hint}known: ${FACTS.join(", ")}`,
  );
}

async function readFacts(path: string, terminal: Terminal): Promise<Partial<Facts>> {
  const text = await readText(path, terminal);
  const value = parseJson(text, nameOf(path));
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw usageError(`${nameOf(path)}: facts are an object such as {"method":"GET","path":"/"}`);
  }
  for (const name of Object.keys(value)) mustBeFact(name, nameOf(path));
  return value;
}

function parseJson(text: string, file: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw usageError(`${file}: ${(error as Error).message}`);
  }
}

/** Pairs on top of those of the file. Of a name that is given twice the last value holds. */
function join<Value>(
  flag: string,
  texts: readonly string[] | undefined,
  given: Readonly<Record<string, Value>> | undefined,
  toName: (name: string) => string,
): Readonly<Record<string, Value | string>> | undefined {
  if (texts === undefined) return given;
  const pairs = texts.map((text) => toPair(flag, text));
  return { ...given, ...Object.fromEntries(pairs.map(([name, value]) => [toName(name), value])) };
}

/** `name=value` as a pair. @throws CommandError if it is not one. */
export function toPair(flag: string, text: string): readonly [string, string] {
  const at = text.indexOf("=");
  if (at < 1) throw usageError(`${flag} must be name=value, got ${JSON.stringify(text)}`);
  return [text.slice(0, at), text.slice(at + 1)];
}

/**
 * Units of a limit: a whole number from 0.
 *
 * @throws CommandError that names the flag.
 */
export function toUnits(flag: string, text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw usageError(`${flag} must be a whole number from 0, got ${JSON.stringify(text)}`);
}
