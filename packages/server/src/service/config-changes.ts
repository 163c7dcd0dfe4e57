// What differs between the configuration that a service runs with and the one that its file says now, and
// which of it can change without a restart.

import { isRecord } from "sluice/shapes";
import type { Config } from "../config/config.js";

/** What takes effect while running: where rules are, what they say, who is notified, and how much is logged. */
const LIVE: readonly string[] = [
  "rules",
  "control.hasRules",
  "ledger.webhooks",
  "ledger.deliveriesKeptMs",
  "telemetry.logLevel",
];

/** How deep values are named one by one; deeper ones are named by what holds them. */
const DEPTH_MAX = 3;

/** Values that a configuration has by themselves, and a file under `server`. */
const OF_SERVER: readonly string[] = ["workers", "drainDelayMs", "drainMs"];

/** The names of values that differ and need a restart, as the file writes them: `server.drainMs`. */
export function changesForRestart(before: Config, after: Config): readonly string[] {
  const names = changesOf(before, after, "", 0).map(toWritten);
  return [...new Set(names)].filter((name) => !LIVE.some((live) => isUnder(name, live)));
}

/** A host and a port are written as one; identity is written otherwise than the library takes it. */
function toWritten(name: string): string {
  if (OF_SERVER.includes(name)) return `server.${name}`;
  if (name === "store.keySecret") return "identity.keySecret";
  if (isUnder(name, "identity") || isUnder(name, "apiKeys")) return "identity";
  return name.replace(/\.(listen|http)\.(?:host|port)$/, ".$1");
}

function isUnder(name: string, live: string): boolean {
  return name === live || name.startsWith(`${live}.`);
}

function changesOf(before: unknown, after: unknown, name: string, depth: number): string[] {
  if (toText(before) === toText(after)) return [];
  if (depth === DEPTH_MAX || !isSection(before) || !isSection(after)) return [name];
  const fields = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...fields].flatMap((field) => {
    const path = name === "" ? field : `${name}.${field}`;
    return changesOf(before[field], after[field], path, depth + 1);
  });
}

function isSection(value: unknown): value is Record<string, unknown> {
  return isRecord(value) && !isMap(value);
}

function isMap(value: unknown): value is ReadonlyMap<unknown, unknown> {
  return value instanceof Map;
}

/** What is compared: data. Functions of a verifier are new after each reading and are ignored. */
function toText(value: unknown): string {
  return JSON.stringify(value, (_, inner) => (isMap(inner) ? [...inner] : inner)) ?? "";
}
