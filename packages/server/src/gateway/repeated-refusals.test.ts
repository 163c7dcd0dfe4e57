// Refusals of a flood are put together once and sent repeatedly: each client still gets what its own request asks for,
// and each refusal is counted.

import { connect } from "node:net";
import { ManualClock } from "sluice/testing";
import { afterEach, expect, it } from "vitest";
import { closedUrl, startGateway, stopAll } from "../../test/proxy-fixture.js";
import { createTelemetry } from "../telemetry/create-telemetry.js";

afterEach(stopAll);

const RULE = {
  id: "flood",
  key: "ip",
  limit: { fixedWindow: { limit: 1, windowMs: 60_000, align: "first" } },
};
const START_MS = Date.UTC(2026, 0, 1);

/** Sends all requests on one connection; what comes back until it is closed. */
async function exchange(url: string, requests: readonly string[]): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname).setEncoding("latin1");
  socket.write(requests.join(""));
  let text = "";
  for await (const piece of socket) text += piece;
  return text;
}

const requestOf = (method: string, more = "") =>
  `${method} / HTTP/1.1\r\nHost: api.example.com\r\n${more}\r\n`;

it("answers every request of a flood in full, and counts each", async () => {
  const clock = new ManualClock(START_MS);
  const telemetry = createTelemetry({
    logLevel: "silent",
    decisionLogShare: 0,
    topKeysMax: 10,
  } as never);
  const { url } = await startGateway(await closedUrl(), {
    rules: [RULE],
    core: { clock, telemetry },
  });
  // The one that is allowed.
  await fetch(url);
  const gets = new Array<string>(5).fill(requestOf("GET"));
  const last = requestOf("GET", "Connection: close\r\n");
  const text = await exchange(url, [...gets, requestOf("HEAD"), ...gets, last]);
  const responses = text.split("HTTP/1.1 429 Too Many Requests\r\n").slice(1);
  expect(responses).toHaveLength(12);
  const withoutDate = responses.map((response) => response.replace(/^Date:.*\r\n/m, ""));
  const [first] = withoutDate;
  expect(first).toContain("Retry-After: 60\r\n");
  expect(first).toContain('"retryAfterMs":60000}');
  const head = `${first.split("\r\n\r\n")[0]}\r\n\r\n`;
  const closing = first.replace("Content-Length", "Connection: close\r\nContent-Length");
  expect(withoutDate).toEqual([
    ...new Array(5).fill(first),
    head,
    ...new Array(5).fill(first),
    closing,
  ]);
  clock.advance(1_000);
  expect(await exchange(url, [requestOf("GET"), last])).toContain("Retry-After: 59\r\n");
  const metrics = await telemetry.metrics();
  expect(metrics).toMatch(/http_429_total\{[^}]*listener="gateway"[^}]*\} 14\n/);
  const { rules } = telemetry.top();
  expect(rules[0]).toMatchObject({ rule: "flood" });
  expect(JSON.stringify(rules[0])).toContain(":14");
});
