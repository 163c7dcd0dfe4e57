// Thousands of clients that send a byte now and then, and good ones beside them that notice nothing.

import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { connectTo } from "sluice-test-servers";
import { afterEach, describe, expect, it } from "vitest";
import { type GatewayFixture, startFixture } from "../gateway-fixture.js";

const SLOW = 5_000;
const SCRIPT = fileURLToPath(new URL("slow-clients.mjs", import.meta.url));

let fixture: GatewayFixture;
let child: ChildProcess | undefined;
afterEach(async () => {
  child?.kill("SIGKILL");
  await fixture.close();
});

interface Counts {
  opened: number;
  closed: number;
  failed: number;
}

/** Starts slow clients; what they report is updated as they run. */
function startSlow(kind: "head" | "body", count: number): Counts {
  const counts: Counts = { opened: 0, closed: 0, failed: 0 };
  const { port } = new URL(fixture.url);
  child = spawn(process.execPath, [SCRIPT, port, `${count}`, "2000", kind], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    const [opened = 0, closed = 0, failed = 0] =
      text.trim().split("\n").at(-1)?.split(" ").map(Number) ?? [];
    Object.assign(counts, { opened, closed, failed });
  });
  return counts;
}

/** Good clients, one request after the other on each connection, until it is enough. */
async function serveGood(until: () => boolean): Promise<{ served: number; slowestMs: number }> {
  const clients = await Promise.all(Array.from({ length: 4 }, () => connectTo(fixture.url)));
  let served = 0;
  let slowestMs = 0;
  await Promise.all(
    clients.map(async (client) => {
      while (!until()) {
        const startMs = performance.now();
        client.text = "";
        client.send("GET /good HTTP/1.1\r\nHost: example.com\r\n\r\n");
        const answer = await client.until((text) => text.endsWith("/good"));
        expect(answer).toMatch(/^HTTP\/1.1 200 OK/);
        served++;
        // They share two processors with all the others.
        await new Promise((resolve) => setTimeout(resolve, 10));
        slowestMs = Math.max(slowestMs, performance.now() - startMs);
      }
      client.end();
    }),
  );
  return { served, slowestMs };
}

describe(`${SLOW} slow connections`, () => {
  it("that never end their heads are cut off in time, while good clients are served", async () => {
    fixture = await startFixture({ gateway: { headersTimeoutMs: 5_000, requestTimeoutMs: 5_000 } });
    const slow = startSlow("head", SLOW);
    const endMs = performance.now() + 60_000;
    const good = await serveGood(
      () => slow.closed === SLOW || slow.failed > 0 || performance.now() > endMs,
    );
    // A system that refuses this many connections fails the test, with the number that it allowed.
    expect(slow).toEqual({ opened: SLOW, closed: SLOW, failed: 0 });
    expect(good.served).toBeGreaterThan(100);
    expect(good.slowestMs).toBeLessThan(5_000);
    expect(fixture.upstream.begun).not.toContain("/slow");
  });
});

describe("slow bodies", () => {
  it("take no connection to the upstream away from good clients", async () => {
    fixture = await startFixture({
      gateway: { headersTimeoutMs: 4_000, requestTimeoutMs: 4_000 },
      upstream: { connectionsMax: 8, waitingMax: 16 },
    });
    const slow = startSlow("body", 200);
    const endMs = performance.now() + 60_000;
    const good = await serveGood(
      () => slow.closed === 200 || slow.failed > 0 || performance.now() > endMs,
    );
    expect(slow).toEqual({ opened: 200, closed: 200, failed: 0 });
    expect(good.served).toBeGreaterThan(100);
  });
});
