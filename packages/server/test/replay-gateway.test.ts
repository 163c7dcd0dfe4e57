// Requests through a live gateway, recorded by a log of their own and replayed: the same decisions, one by one.

import { request as sendRequest } from "node:http";
import { systemClock } from "sluice";
import { parseRules } from "sluice/rules";
import { ManualClock } from "sluice/testing";
import { makeTraffic, toLogLine } from "sluice-test-servers";
import { expect, it } from "vitest";
import { openSources } from "../src/access-logs/reading/log-source.js";
import { replayLogs } from "../src/core/log-replay/log-replay.js";
import { startFixture } from "./gateway-fixture.js";

const NOON = Date.UTC(2026, 10, 17, 12);
const RULES = [
  { id: "all", key: "ip", limit: { tokenBucket: { capacity: 8, refillPerSecond: 1 } } },
  { id: "api", match: { path: "/api/*" }, key: "ip", limit: "4/minute" },
  {
    id: "login",
    match: { path: "/login", methods: "POST" },
    key: "ip",
    limit: "2/minute",
    when: { status: 401 },
  },
  {
    id: "pages",
    match: { path: "/search" },
    key: "global",
    limit: { slidingWindowCounter: { limit: 30, windowMs: "10s" } },
  },
];

function send(
  url: string,
  method: string,
  path: string,
  headers: Record<string, string>,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = sendRequest(new URL(path, url), { method, headers }, (response) => {
      response.resume();
      response.on("end", () => resolve(response.statusCode ?? 0));
    });
    sent.on("error", reject);
    sent.end();
  });
}

it("decides traffic that a gateway decided as the gateway did", async () => {
  const clock = Object.assign(new ManualClock(NOON), { after: systemClock.after });
  const fixture = await startFixture({
    rules: RULES,
    clock,
    config: { identity: { trustedProxies: ["127.0.0.1"] } },
    answer: (seen, response) => response.writeHead(Number(seen.headers["x-answer"])).end("ok"),
  });
  const lines: string[] = [];
  const live: boolean[] = [];
  try {
    for (const each of makeTraffic({
      requests: 1_500,
      callers: 30,
      startMs: NOON,
      perSecond: 20,
    })) {
      clock.set(each.atMs);
      const headers = { "x-forwarded-for": each.ip, "x-answer": `${each.status}` };
      const status = await send(fixture.url, each.method, each.path, headers);
      live.push(status !== 429);
      // With what the backend answers, as in a log from before there were limits.
      lines.push(toLogLine("caddy", { ...each, ip: "127.0.0.1", forwardedFor: each.ip }));
    }
  } finally {
    await fixture.close();
  }
  async function* stream() {
    yield Buffer.from(lines.join("\n"));
  }
  const replayed: boolean[] = [];
  const report = await replayLogs({
    sources: await openSources([{ name: "access.log", stream: stream() }], {}),
    rules: { file: "rules.yaml", rules: parseRules({ version: 1, rules: RULES }) },
    trustedProxies: ["127.0.0.1"],
    onDecided: (_, isAllowed) => replayed.push(isAllowed),
  });
  expect(replayed).toEqual(live);
  expect(new Set(live)).toEqual(new Set([true, false]));
  const refusing = report.byRule.filter(({ refused }) => refused > 0).map(({ rule }) => rule);
  expect(refusing.toSorted()).toEqual(["all", "api", "login", "pages"]);
});
