// What tests ask of a server besides what the library does: its time, and that no key of it stays
// for ever. And limits whose recovery is so slow that a test can count exactly.

import type { RedisProcess } from "sluice-test-servers";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** The server's time in milliseconds. */
export async function serverMs(server: RedisProcess): Promise<number> {
  const [seconds, micros] = (await server.command("TIME")) as [string, string];
  return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
}

/** All names of keys on a server, in latin1 so that any byte survives. */
export async function keysOf(server: RedisProcess): Promise<string[]> {
  const keys = new Set<string>();
  let cursor = "0";
  do {
    const [next, found] = (await server.command("SCAN", cursor, "COUNT", 1000)) as [
      string,
      string[],
    ];
    for (const key of found) keys.add(key);
    cursor = next;
  } while (cursor !== "0");
  return [...keys];
}

/** The keys of a server that would never expire; a key that expires while we look is none. */
export async function eternalKeys(server: RedisProcess): Promise<string[]> {
  const keys = await keysOf(server);
  const ttls = await Promise.all(keys.map((key) => server.command("PTTL", key)));
  return keys.filter((_, i) => ttls[i] === -1);
}

/** A window of hundreds of days whose border is more than an hour away from now. */
export function longWindowMs(): number {
  const windowsMs = [300 * DAY_MS, 366 * DAY_MS];
  return windowsMs.find((ms) => ms - (Date.now() % ms) > HOUR_MS) as number;
}

/** A refill of one unit a day. */
export const slowRefill = { amount: 1, everyMs: DAY_MS } as const;
