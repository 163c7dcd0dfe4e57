// Checks the server when it is first used, once. One INFO command shows both whether it
// can run the scripts and whether it would forget counters when its memory is full.

import { SluiceError } from "../../base/errors.js";

/** Redis and Valkey both report it as `redis_version`; Valkey starts at 7.2. */
const REDIS_VERSION_MIN = "6.2";

/** What was found. */
export interface ServerReport {
  readonly version: string;
  /** What the user should know, if anything. */
  readonly warning: string | undefined;
}

/** Reads a reply of INFO; throws `SLUICE_STORE_UNSUPPORTED` if the server can't be used. */
export function checkServer(info: string): ServerReport {
  const version = fieldOf(info, "redis_version");
  if (version === undefined || isOlder(version, REDIS_VERSION_MIN)) {
    const needs = `needs Redis ${REDIS_VERSION_MIN} or later, or any Valkey`;
    throw new SluiceError("SLUICE_STORE_UNSUPPORTED", `${needs}; saw version ${version ?? "none"}`);
  }
  const policy = fieldOf(info, "maxmemory_policy");
  const warning = policy?.startsWith("allkeys-")
    ? `maxmemory-policy is ${policy}: a full server evicts counters, and callers get a full limit again; use noeviction`
    : undefined;
  return { version, warning };
}

function fieldOf(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:(.*?)\\s*$`, "m").exec(info)?.[1];
}

function isOlder(version: string, than: string): boolean {
  const [major, minor] = version.split(".").map(Number);
  const [majorMin, minorMin] = than.split(".").map(Number);
  return !(major > majorMin || (major === majorMin && minor >= minorMin));
}
