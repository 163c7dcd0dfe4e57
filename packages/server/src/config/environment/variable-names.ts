// The names of environment variables: SLUICE_ and the path of a value, in capitals, with an underscore between words.
// `gateway.headerBytesMax` is SLUICE_GATEWAY_HEADER_BYTES_MAX.

import { type Fields, isRecord, type Path, type Shape } from "sluice/shapes";
import { fileSection } from "../description/file.js";
import { toNode } from "../description/walk.js";

const PREFIX = "SLUICE_";

/** Variables of the same prefix that are not values of the file, and who reads them. */
export const RESERVED_VARIABLES: readonly string[] = [
  // Which file `sluice serve` reads.
  "SLUICE_CONFIG",
  // Where the other verbs of `sluice` find a service.
  "SLUICE_ADMIN",
  // What an image may say of itself; the version of the file is said in the file.
  "SLUICE_VERSION",
];

/**
 * What Kubernetes sets in every pod for a service that is called sluice, or sluice-something: to stop at
 * these would stop every pod.
 */
const OF_KUBERNETES =
  /^SLUICE_(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$/;

function isOfKubernetes(name: string, text: string): boolean {
  if (OF_KUBERNETES.test(name)) return true;
  // Its ports are addresses: `SLUICE_GATEWAY_PORT=8080` is a mistake.
  return name.endsWith("_PORT") && /^(tcp|udp|sctp):\/\//.test(text);
}

/** The variable of a name or a way to a value: `["gateway", "keepAliveMs"]`. */
export function toVariable(path: Path): string {
  return PREFIX + path.map((step) => toWords(String(step))).join("_");
}

/** A name in capitals: `retryAfterJitterMs` is RETRY_AFTER_JITTER_MS. */
export function toWords(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replace(/[^A-Za-z0-9]/g, "_")
    .toUpperCase();
}

/** Whether a variable has to name a value. */
export function isOurs(name: string, text: string): boolean {
  if (!name.startsWith(PREFIX) || RESERVED_VARIABLES.includes(name)) return false;
  return !isOfKubernetes(name, text);
}

/**
 * The way to the value that a variable names; undefined if it names none. Entries of maps are looked for in
 * `given`, what the file says.
 */
export function findVariable(name: string, given: unknown): Path | undefined {
  return findPath(fileSection, name.slice(PREFIX.length), given);
}

function findPath(shape: Shape<unknown>, words: string, given: unknown): Path | undefined {
  const node = toNode(shape);
  if (node.kind === "value" && node.shape.parts !== undefined) {
    return findField(node.shape.parts, words, given);
  }
  if (node.kind === "section") return findField(node.fields, words, given);
  return node.kind === "map" ? findEntry(node.entry, words, given) : undefined;
}

function findField(fields: Fields, words: string, given: unknown): Path | undefined {
  for (const [name, { shape }] of Object.entries(fields)) {
    const own = toWords(name);
    if (words === own && toNode(shape).kind !== "section") return [name];
    if (!words.startsWith(`${own}_`)) continue;
    const rest = findPath(shape, words.slice(own.length + 1), childOf(given, name));
    if (rest !== undefined) return [name, ...rest];
  }
  return undefined;
}

/** An entry is called as it is in the file, or else as the variable has it, in lower case. */
function findEntry(entry: Shape<unknown>, words: string, given: unknown): Path | undefined {
  for (let end = words.indexOf("_"); end > 0; end = words.indexOf("_", end + 1)) {
    const name = words.slice(0, end);
    const known = Object.keys(isRecord(given) ? given : {}).find((key) => toWords(key) === name);
    const rest = findPath(entry, words.slice(end + 1), childOf(given, known ?? ""));
    if (rest !== undefined) return [known ?? name.toLowerCase(), ...rest];
  }
  return undefined;
}

/** All variables there are: of each map those of the entries that `given` has. */
export function listVariables(given: unknown): string[] {
  const isNone = (name: string) => RESERVED_VARIABLES.includes(name) || name.includes("__");
  return listPaths(fileSection, [], given)
    .map(toVariable)
    .filter((name) => !isNone(name));
}

function listPaths(shape: Shape<unknown>, path: Path, given: unknown): Path[] {
  const node = toNode(shape);
  const fields = node.kind === "section" ? node.fields : node.kind === "value" && node.shape.parts;
  const own = node.kind === "section" ? [] : [path];
  if (node.kind === "map") {
    const names = Object.keys(isRecord(given) ? given : {});
    return [...own, ...names.flatMap((name) => listPaths(node.entry, [...path, name], {}))];
  }
  if (!fields) return own;
  return [
    ...own,
    ...Object.entries(fields).flatMap(([name, field]) =>
      listPaths(field.shape, [...path, name], childOf(given, name)),
    ),
  ];
}

/** What a map has under a name of its own; undefined for what is not a map. */
export function childOf(given: unknown, name: string): unknown {
  return isRecord(given) && Object.hasOwn(given, name) ? given[name] : undefined;
}
