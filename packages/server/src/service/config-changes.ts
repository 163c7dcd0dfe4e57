// What differs between the configuration that a service runs with and the one that its file says now, and
// which of it can change without a restart.

import type { Config } from "../config/config.js";

/** What takes effect while running: where rules are, what they say, and how much is logged. */
const LIVE: readonly string[] = ["rules", "telemetry.logLevel"];

/** How deep values are told apart by name; deeper ones are named by what holds them. */
const DEPTH_MAX = 3;

/** The names of values that differ and need a restart, as the file writes them: `gateway.listen`. */
export function changesForRestart(before: Config, after: Config): readonly string[] {
  return changesOf(before, after, "", 0).filter(
    (name) => !LIVE.some((live) => isUnder(name, live)),
  );
}

function isUnder(name: string, live: string): boolean {
  return name === live || name.startsWith(`${live}.`);
}

function changesOf(before: unknown, after: unknown, name: string, depth: number): string[] {
  if (toText(before) === toText(after)) return [];
  if (depth === DEPTH_MAX || !isRecord(before) || !isRecord(after)) return [name];
  const fields = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...fields].flatMap((field) => {
    const path = name === "" ? field : `${name}.${field}`;
    return changesOf(before[field], after[field], path, depth + 1);
  });
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isMap(value);
}

function isMap(value: unknown): value is ReadonlyMap<unknown, unknown> {
  return value instanceof Map;
}

/** What is compared: data. Functions of a verifier are made anew by each reading, and say nothing. */
function toText(value: unknown): string {
  return JSON.stringify(value, (_, inner) => (isMap(inner) ? [...inner] : inner)) ?? "";
}
