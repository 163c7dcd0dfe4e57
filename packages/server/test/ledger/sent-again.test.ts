// Requests that are sent again with their id, at a gateway over a real ledger: whatever becomes of the second one, what the
// first one was charged stays as it is. The application answers a repeated id itself, so the second costs nothing.

import type { ServerResponse } from "node:http";
import { systemClock } from "sluice";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import type { UpstreamConfig } from "../../src/config/config.js";
import { LedgerStore } from "../../src/ledger/ledger-store.js";
import { verifyLedger } from "../../src/ledger/verify/verify-ledger.js";
import { testDatabases } from "../control/databases.js";
import { eventually, onStop, startGateway, startUpstream, stopAll } from "../proxy-fixture.js";
import { emptiedDatabase } from "./emptied.js";

const all = testDatabases();
afterEach(stopAll);
afterAll(() => Promise.all(all.map((databases) => databases.stop())));

const TOKENS = {
  id: "tokens",
  key: "header:x-tenant",
  limit: { quota: { limit: 1_000, period: "month" } },
  durable: true,
  cost: 400,
  when: { status: "2xx" },
  settle: { json: "usage.total_tokens" },
};
const CALLS = {
  id: "calls",
  key: "ip",
  limit: { quota: { limit: 10, period: "month" } },
  durable: true,
};
// Decided after the other one, since it needs the body.
const BURST = { id: "burst", key: "body:user", limit: "1/hour" };

describe.each(all)("a request that is sent again, with a ledger in $name", (databases) => {
  const ready = emptiedDatabase(databases);

  async function start(rules: readonly object[], upstreamOptions: Partial<UpstreamConfig> = {}) {
    const database = await ready();
    const durableStore = new LedgerStore(database, {
      actor: "node-1",
      clock: systemClock,
      sweepMs: 0,
    });
    // After the gateway, whose last settlements it then waits for.
    onStop(() => durableStore.close());
    const held: ServerResponse[] = [];
    const upstream = await startUpstream((request, response) => {
      request.resume();
      response.setHeader("content-type", "application/json");
      if (request.headers["x-then"] === undefined) held.push(response);
      else response.writeHead(Number(request.headers["x-then"])).end("{}");
    });
    const { url, core } = await startGateway(upstream, {
      rules,
      upstream: upstreamOptions,
      core: { durableStore },
      gateway: { requestIdHeader: "idempotency-key" },
    });
    const send = (more: Record<string, string> = {}, signal?: AbortSignal) =>
      fetch(url, {
        method: "POST",
        headers: {
          "idempotency-key": "a",
          "content-type": "application/json",
          "x-tenant": "acme",
          ...more,
        },
        body: '{"user":"bob"}',
        signal: signal ?? null,
      });
    const entries = async () => {
      const rows = await database.query(
        "SELECT kind, amount FROM ledger_entries ORDER BY sequence",
      );
      return rows.map(({ kind, amount }) => `${kind} ${amount}`);
    };
    return { database, core, send, held, entries };
  }

  it.each([
    ["is refused by its backend, which still works on the first,", "409", TOKENS],
    ["is refused so under a rule that leases", "409", { ...TOKENS, consistency: "leased" }],
    ["gets a response that says nothing of the cost", "200", TOKENS],
  ])("and %s leaves the cost to the first", async (_, status, rule) => {
    const { database, send, held, entries } = await start([rule]);
    const first = send();
    await eventually(() => held.length === 1, "the first request at the backend");
    const again = await send({ "x-then": status });
    expect(`${again.status}`).toBe(status);
    await again.text();
    held[0].end('{"usage":{"total_tokens":900}}');
    expect((await first).status).toBe(200);
    await eventually(async () => (await entries()).length === 3, "a settled charge");
    expect(await entries()).toEqual(["grant 1000", "reserve -400", "commit -500"]);
    expect(await verifyLedger(database)).toMatchObject({ problems: [] });
  });

  it("and whose client leaves leaves the cost to the first", async () => {
    const { core, send, held, entries } = await start([TOKENS]);
    const first = send();
    await eventually(() => held.length === 1, "the first request at the backend");
    const leaving = new AbortController();
    const again = send({}, leaving.signal).catch(() => "left");
    await eventually(() => held.length === 2, "the second request at the backend");
    leaving.abort();
    expect(await again).toBe("left");
    await eventually(
      async () => (await core.telemetry.metrics()).includes('reason="no-response"'),
      "the end of the second",
    );
    held[0].end('{"usage":{"total_tokens":900}}');
    expect((await first).status).toBe(200);
    await eventually(async () => (await entries()).length === 3, "a settled charge");
    expect(await entries()).toEqual(["grant 1000", "reserve -400", "commit -500"]);
  });

  it("and says what it cost settles for a first one that never does", async () => {
    const { send, held, entries } = await start([TOKENS]);
    void send().catch(() => {});
    await eventually(() => held.length === 1, "the first request at the backend");
    const again = send();
    await eventually(() => held.length === 2, "the second request at the backend");
    held[1].end('{"usage":{"total_tokens":46}}');
    expect((await again).status).toBe(200);
    await eventually(async () => (await entries()).length === 3, "a settled charge");
    expect(await entries()).toEqual(["grant 1000", "reserve -400", "commit 354"]);
  });

  it("and refused by a later rule refunds nothing of what the first was charged", async () => {
    const { send, held, entries } = await start([CALLS, BURST]);
    const first = send();
    await eventually(() => held.length === 1, "the first request at the backend");
    held[0].end("{}");
    expect((await first).status).toBe(200);
    expect((await send()).status).toBe(429);
    expect((await send({ "idempotency-key": "b" })).status).toBe(429);
    // The other id was charged and refunded.
    expect(await entries()).toEqual(["grant 10", "use -1", "use -1", "cancel 1"]);
  });

  it("and shed refunds nothing of the first; one that was shed is charged when it is admitted", async () => {
    // Of two places, requests without a priority get one.
    const { database, send, held, entries } = await start([TOKENS], {
      adaptive: { min: 2, max: 2 },
    });
    const first = send();
    await eventually(() => held.length === 1, "the first request at the backend");
    const other = { "idempotency-key": "b" };
    expect([(await send()).status, (await send(other)).status]).toEqual([503, 503]);
    held[0].end('{"usage":{"total_tokens":500}}');
    expect((await first).status).toBe(200);
    await eventually(async () => (await entries()).length === 5, "settled charges");
    const later = send(other);
    await eventually(() => held.length === 2, "the other request at the backend");
    held[1].end('{"usage":{"total_tokens":100}}');
    expect((await later).status).toBe(200);
    await eventually(async () => (await entries()).length === 7, "settled charges");
    expect(await entries()).toEqual([
      ...["grant 1000", "reserve -400", "reserve -400", "cancel 400", "commit -100"],
      ...["reserve -400", "commit 300"],
    ]);
    expect(await verifyLedger(database)).toMatchObject({ problems: [] });
  });
});
