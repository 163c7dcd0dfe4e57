// A million lines through the command as it is installed, rotated and compressed, half of them behind a proxy, with bots,
// bursts, IPv6 and lines that are cut off: every rule refuses as often as a policy does that decides the same requests live.

import { execFile } from "node:child_process";
import { createWriteStream } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createGzip } from "node:zlib";
import { memoryStore } from "sluice";
import { createPolicy, type PolicyDecision, parseRules } from "sluice/rules";
import { ManualClock } from "sluice/testing";
import { makeFolder, makeTraffic, toLogLine } from "sluice-test-servers";
import { expect, it } from "vitest";
import type { ReplayReport } from "../src/core/log-replay/replay-report.js";

const LINES = 1_000_000;
const CALLERS = 20_000;
const PROXY = "10.255.255.1";
const LINES_A_PIECE = 5_000;
const GARBAGE_EVERY = 9_973;
const NOON = Date.UTC(2026, 10, 17, 12);
const RULES = {
  version: 1,
  rules: [
    { id: "all", key: "ip", limit: { tokenBucket: { capacity: 40, refillPerSecond: 5 } } },
    {
      id: "api",
      match: { path: "/api/*" },
      key: "ip",
      limit: { slidingWindowCounter: { limit: 8, windowMs: "10s" } },
    },
    {
      id: "login",
      match: { path: "/login", methods: "POST" },
      key: "ip",
      limit: { fixedWindow: { limit: 3, windowMs: "1m" } },
      when: { status: 401 },
    },
  ],
};
const folder = makeFolder("replay-million");
const command = fileURLToPath(new URL("../bin/sluice.js", import.meta.url));

const traffic = () => makeTraffic({ requests: LINES, callers: CALLERS, startMs: NOON });

/** The lines from one to before another, in pieces. From a proxy, the client is in X-Forwarded-For. */
function* piecesOf(from: number, to: number, isProxied: boolean): Generator<string> {
  let lines: string[] = [];
  let at = 0;
  for (const request of traffic()) {
    const place = at++;
    if (place < from || place >= to) continue;
    const proxied = isProxied ? { ip: PROXY, forwardedFor: request.ip } : {};
    lines.push(toLogLine("combined", { ...request, ...proxied }));
    if (place % GARBAGE_EVERY === 0) lines.push('203.0.113.9 - - [17/Nov/2026:12:00:00 +0000] "GE');
    if (lines.length < LINES_A_PIECE && place < to - 1) continue;
    yield `${lines.join("\n")}\n`;
    lines = [];
  }
}

/** How often each rule refuses the same requests, live. The log has whole seconds. */
function refuseLive(): Record<string, number> {
  const clock = new ManualClock(NOON);
  const policy = createPolicy({ rules: parseRules(RULES), store: memoryStore(), clock });
  const refused: Record<string, number> = {};
  for (const { atMs, status, method, path, ip } of traffic()) {
    clock.set(Math.floor(atMs / 1_000) * 1_000);
    const decision = policy.admit({ method, path, ip }) as PolicyDecision;
    void decision.finish({ status });
    if (decision.allowed) continue;
    const { rule = "" } = decision;
    refused[rule] = (refused[rule] ?? 0) + 1;
  }
  return refused;
}

it("replays a million lines as a policy decides them live", { timeout: 120_000 }, async () => {
  const half = LINES / 2;
  const [older, newer] = [join(folder, "access.log.1.gz"), join(folder, "access.log")];
  const gzip = createGzip({ level: 1 });
  await pipeline(Readable.from(piecesOf(0, half, false)), gzip, createWriteStream(older));
  await pipeline(Readable.from(piecesOf(half, LINES, true)), createWriteStream(newer));
  const rules = join(folder, "rules.json");
  await pipeline(Readable.from([JSON.stringify(RULES)]), createWriteStream(rules));
  const args = [command, "replay", newer, older, "--rules", rules, "--json"];
  args.push("--trusted-proxies", PROXY);
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args);
  const report = JSON.parse(stdout) as ReplayReport;
  expect(report.log).toMatchObject({
    lines: LINES + Math.ceil(LINES / GARBAGE_EVERY),
    malformed: Math.ceil(LINES / GARBAGE_EVERY),
    late: 0,
  });
  expect(report.requests.total).toBe(LINES);
  expect(report.callers).toMatchObject({ total: CALLERS, areExact: true });
  const live = refuseLive();
  expect(Object.fromEntries(report.byRule.map(({ rule, refused }) => [rule, refused]))).toEqual(
    live,
  );
  expect(Object.keys(live)).toHaveLength(3);
  // A progress bar is for people.
  expect(stderr.split("\n")).toHaveLength(3);
});
