// Every value of the file as a variable of the environment: SLUICE_ and the way to it, in capitals, with an
// underscore between words: `gateway.headerBytesMax` is SLUICE_GATEWAY_HEADER_BYTES_MAX. A variable that
// names nothing is a problem: one that is misspelt would be a default in silence.

import { parse } from "yaml";
import { fileSection } from "./description/file.js";
import { nearestName } from "./nearest.js";
import { type Path, type Problems, toPathText } from "./problems.js";
import { schemaAt, toNode } from "./walk.js";

type Schema = NonNullable<ReturnType<typeof schemaAt>>;

const PREFIX = "SLUICE_";

/** Variables of the same prefix that are no values of the file, and who reads them. */
export const RESERVED_VARIABLES: readonly string[] = [
  // Which file `sluice serve` reads.
  "SLUICE_CONFIG",
  // Where the other verbs of `sluice` find a service.
  "SLUICE_ADMIN",
];

/**
 * What Kubernetes sets in every pod for a service that is called sluice, or sluice-something: to stop at
 * these would stop every pod.
 */
const OF_KUBERNETES =
  /^SLUICE_(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$/;

function isOfKubernetes(name: string, text: string): boolean {
  if (OF_KUBERNETES.test(name)) return true;
  // Its ports are addresses: `SLUICE_GATEWAY_PORT=8080` is somebody's mistake.
  return name.endsWith("_PORT") && /^(tcp|udp|sctp):\/\//.test(text);
}

/** The variable of a name or a way to a value: `["gateway", "keepAliveMs"]`. */
export function toVariable(path: Path): string {
  return PREFIX + path.map((step) => toWords(String(step))).join("_");
}

function toWords(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replace(/[^A-Za-z0-9]/g, "_")
    .toUpperCase();
}

/**
 * Puts the values of variables into `value`, which is changed. Answers which variable a value came from,
 * by its path as text.
 */
export function applyEnvironment(
  value: Record<string, unknown>,
  env: NodeJS.ProcessEnv,
  problems: Problems,
): ReadonlyMap<string, string> {
  const variables = new Map<string, string>();
  for (const name of Object.keys(env).sort()) {
    const text = env[name];
    if (text === undefined || !isOurs(name, text)) continue;
    const path = findPath(fileSection, name.slice(PREFIX.length), value);
    if (path === undefined) {
      problems.addVariable(name, `names no value of the configuration${suggest(name, value)}`);
      continue;
    }
    const entry = toValue(path, text);
    const trouble = entry === UNREADABLE ? "must be YAML or JSON" : findRivals(value, path);
    if (trouble !== undefined) problems.addVariable(name, trouble);
    else {
      setAt(value, path, entry);
      variables.set(toPathText(path), name);
    }
  }
  return variables;
}

function isOurs(name: string, text: string): boolean {
  if (!name.startsWith(PREFIX) || RESERVED_VARIABLES.includes(name)) return false;
  return !isOfKubernetes(name, text);
}

/** The way to the value that `words` name below a schema; entries of maps are looked for in `given`. */
function findPath(schema: Schema, words: string, given: unknown): Path | undefined {
  const node = toNode(schema);
  if (node.kind === "value" && node.info.fields !== undefined) {
    return findField(node.info.fields, words, given);
  }
  if (node.kind === "section") return findField(node.fields, words, given);
  return node.kind === "map" ? findEntry(node.entry, words, given) : undefined;
}

function findField(
  fields: Readonly<Record<string, Schema>>,
  words: string,
  given: unknown,
): Path | undefined {
  for (const [name, schema] of Object.entries(fields)) {
    const own = toWords(name);
    if (words === own && toNode(schema).kind !== "section") return [name];
    if (!words.startsWith(`${own}_`)) continue;
    const rest = findPath(schema, words.slice(own.length + 1), childOf(given, name));
    if (rest !== undefined) return [name, ...rest];
  }
  return undefined;
}

/** An entry is called as it is in the file, or else as the variable has it, in lower case. */
function findEntry(entry: Schema, words: string, given: unknown): Path | undefined {
  for (let end = words.indexOf("_"); end > 0; end = words.indexOf("_", end + 1)) {
    const name = words.slice(0, end);
    const known = Object.keys(isRecord(given) ? given : {}).find((key) => toWords(key) === name);
    const rest = findPath(entry, words.slice(end + 1), childOf(given, known ?? ""));
    if (rest !== undefined) return [known ?? name.toLowerCase(), ...rest];
  }
  return undefined;
}

/** Entries of the file whose names are one in capitals: which of them is meant can't be told. */
function findRivals(value: unknown, path: Path): string | undefined {
  let given = value;
  for (const [i, step] of path.entries()) {
    const words = toWords(String(step));
    const rivals = Object.keys(isRecord(given) ? given : {}).filter(
      (key) => toWords(key) === words,
    );
    if (rivals.length > 1) {
      const names = rivals.map((rival) => toPathText([...path.slice(0, i), rival]));
      return `could mean ${names.join(" or ")}`;
    }
    given = childOf(given, String(step));
  }
  return undefined;
}

const UNREADABLE = Symbol("unreadable");

/** What a text stands for at that path: a value, a list with commas, or YAML for what is more than that. */
function toValue(path: Path, text: string): unknown {
  const schema = schemaAt(fileSection, path);
  const node = schema === undefined ? undefined : toNode(schema);
  if (node?.kind === "list" && toNode(node.entry).kind === "value") return toList(text);
  if (node?.kind === "value" && node.info.fields === undefined) return text;
  if (node === undefined) return text;
  try {
    return parse(text, { logLevel: "error" }) as unknown;
  } catch {
    return UNREADABLE;
  }
}

function toList(text: string): string[] {
  if (text.trim() === "") return [];
  return text.split(",").map((entry) => entry.trim());
}

function setAt(root: Record<string, unknown>, path: Path, value: unknown): void {
  let map = root;
  for (const [i, step] of path.slice(0, -1).entries()) {
    const next = map[step];
    // What stands there and can't hold fields is a problem of its own, told when its turn comes.
    if (next !== undefined && next !== null && !isRecord(next)) return;
    // Rules are named or written: the name of a file takes the place of what is written.
    const isReplaced = !isRecord(next) || kindAt(path.slice(0, i + 1)) === "value";
    map = isReplaced ? create(map, step) : next;
  }
  map[path.at(-1) as string] = value;
}

function kindAt(path: Path): string | undefined {
  const schema = schemaAt(fileSection, path);
  return schema === undefined ? undefined : toNode(schema).kind;
}

function create(map: Record<string, unknown>, name: string | number): Record<string, unknown> {
  const made = {};
  map[name] = made;
  return made;
}

function suggest(name: string, value: unknown): string {
  const nearest = nearestName(name, listVariables(value));
  return nearest === undefined ? "" : `; did you mean ${nearest}?`;
}

/** All variables there are: of each map those of the entries that `given` has. */
export function listVariables(given: unknown): string[] {
  return listPaths(fileSection, [], given).map(toVariable);
}

function listPaths(schema: Schema, path: Path, given: unknown): Path[] {
  const node = toNode(schema);
  const fields = node.kind === "section" ? node.fields : node.kind === "value" && node.info.fields;
  const own = node.kind === "section" ? [] : [path];
  if (node.kind === "map") {
    const names = Object.keys(isRecord(given) ? given : {});
    return [...own, ...names.flatMap((name) => listPaths(node.entry, [...path, name], {}))];
  }
  if (!fields) return own;
  return [
    ...own,
    ...Object.entries(fields).flatMap(([name, field]) =>
      listPaths(field, [...path, name], childOf(given, name)),
    ),
  ];
}

function childOf(given: unknown, name: string): unknown {
  return isRecord(given) && Object.hasOwn(given, name) ? given[name] : undefined;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
