import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseRules } from "sluice/rules";
import { makeFolder, makeTraffic, toLogLine } from "sluice-test-servers";
import { describe, expect, it } from "vitest";
import { openSources } from "../../access-logs/reading/log-source.js";
import { replayLogs } from "./log-replay.js";
import type { ReplayReport } from "./replay-report.js";

const folder = makeFolder("planned-requests");
const NOON = Date.UTC(2026, 10, 17, 12);
const RULES = [
  { id: "all", key: "ip", limit: { tokenBucket: { capacity: 5, refillPerSecond: 1 } } },
  { id: "api", match: { path: "/api/*" }, key: "ip", limit: "10/minute" },
  {
    id: "login",
    match: { path: "/login", methods: "POST" },
    key: "ip",
    limit: { fixedWindow: { limit: 3, windowMs: "1m" } },
  },
  { id: "search", match: { path: "/search" }, key: "global", limit: "20/minute" },
];
/** A rule that looks at a header: nothing can be planned, and every request takes the general way. */
const UNPLANNED = {
  id: "unplanned",
  match: { headers: { "user-agent": "unheard-of" } },
  limit: "1/hour",
};
const ODD = [
  "",
  "nothing of a log",
  '10.0.0.1 - - [17/Nov/2026:12:00:01 +0000] "GET /cut',
  '010.0.0.1 - - [17/Nov/2026:12:00:01 +0000] "GET / HTTP/1.1" 200 5 "-" "-"',
  '256.0.0.1 - - [17/Nov/2026:12:00:02 +0000] "GET / HTTP/1.1" 200 5 "-" "-"',
  '::ffff:10.0.0.3 - - [17/Nov/2026:12:00:02 +0000] "GET / HTTP/1.1" 200 5 "-" "-"',
  '2001:DB8::1 - - [17/Nov/2026:12:00:03 +0000] "GET /api/a\\x22b HTTP/1.1" 200 - "-" "-"',
  '10.0.0.1 - ada [17/Nov/2026:12:00:03 +0000] "GET / HTTP/1.1" 200 5 "-" "-"',
  '10.0.0.1 - - [17/Nov/2026:13:00:03.250 +0100] "GET /?q=%22 HTTP/1.1" 200 5 "-" "-"',
  '10.0.0.1 - - [17/Nov/2026:12:00:03 +0000] "G" 200 5 "-" "-"',
  `10.0.0.1 - - [17/Nov/2026:12:00:04 +0000] "GET /${"long".repeat(60)} HTTP/1.1" 200 5 "-" "-"`,
];

/** Lines that come up to five seconds out of order, with odd ones among them. */
function makeLog(seed: number): string {
  const shape = { requests: 1_200, callers: 60, startMs: NOON, perSecond: 50, seed };
  const lines = [...makeTraffic(shape)].map((request, at) => {
    const atMs = request.atMs + ((at * 7_919 + seed) % 5) * 1_000;
    return toLogLine("combined", { ...request, atMs });
  });
  for (let at = 0; at < lines.length; at += 13)
    lines.splice(at, 0, ODD[(at * seed) % ODD.length] as string);
  return lines.join(seed % 2 === 0 ? "\n" : "\r\n");
}

/** Chunks of a stream. */
async function* inChunks(text: string, chunkBytes: number) {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes);
}

async function replay(
  log: string | AsyncIterable<Buffer>,
  rules: readonly object[],
): Promise<ReplayReport> {
  const input = typeof log === "string" ? log : { name: "log", stream: log };
  const sources = await openSources([input], { format: "combined" });
  const parsed = parseRules({ version: 1, rules });
  return replayLogs({ sources, rules: { file: "rules", rules: parsed }, keysMax: 10_000 });
}

/** What was decided, apart from which rules there were. */
function outcomeOf({ requests, callers, series, byRule, byKey, log }: ReplayReport) {
  const rules = byRule.filter(({ rule }) => rule !== UNPLANNED.id);
  return { requests, callers, series, rules, byKey, malformed: log.malformed, late: log.late };
}

describe("requests that are decided by plans", () => {
  it.each([1, 2, 3, 4])(
    "are decided and counted as in the general way, whatever lines say (seed %d)",
    async (seed) => {
      const text = makeLog(seed);
      const file = join(folder, `access.log.${seed}`);
      writeFileSync(file, text);
      // Chunks of a file are read into the same memory again: nothing may be read of one that is gone.
      const planned = await replay(file, RULES);
      const general = await replay(inChunks(text, 65_536), [...RULES, UNPLANNED]);
      expect(outcomeOf(planned)).toEqual(outcomeOf(general));
      expect(planned.requests.refused).toBeGreaterThan(100);
      expect(planned.log.malformed).toBeGreaterThan(20);
    },
  );

  it.each([1, 7, 64, 4_096])("are the same if chunks end every %d bytes", async (chunkBytes) => {
    const text = makeLog(5).slice(0, 30_000);
    const whole = await replay(inChunks(text, text.length), RULES);
    const inPieces = await replay(inChunks(text, chunkBytes), RULES);
    expect(outcomeOf(inPieces)).toEqual(outcomeOf(whole));
    expect(whole.requests.total).toBeGreaterThan(150);
  });

  it("take nothing from a line of another log in another format", async () => {
    const request = { atMs: NOON, ip: "10.0.0.1", method: "GET", status: 200, bodyBytes: 1 };
    const lines = {
      combined: toLogLine("combined", { ...request, path: "/" }),
      caddy: toLogLine("caddy", { ...request, path: "/api/a", host: "a.example", user: "ada" }),
    };
    async function* only(line: string) {
      yield Buffer.from(`${line}\n`);
    }
    const inputs = Object.entries(lines).map(([name, line]) => ({ name, stream: only(line) }));
    const rules = parseRules({ version: 1, rules: RULES });
    const seen: (string | undefined)[][] = [];
    await replayLogs({
      sources: await openSources([...inputs, { name: "3", stream: only(lines.combined) }], {}),
      rules: { file: "rules", rules },
      onDecided: ({ path, user, host }) => seen.push([path, user, host]),
    });
    expect(seen).toEqual([
      ["/", undefined, undefined],
      ["/api/a", "ada", "a.example"],
      ["/", undefined, undefined],
    ]);
  });
});
