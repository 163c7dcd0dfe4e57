// Durable quotas under the gateway, settled by what responses say: the entries that requests leave in a ledger.

import { systemClock } from "sluice";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { LedgerStore } from "../../src/ledger/ledger-store.js";
import { verifyLedger } from "../../src/ledger/verify/verify-ledger.js";
import { testDatabases } from "../control/databases.js";
import { eventually, startGateway, startUpstream, stopAll } from "../proxy-fixture.js";
import { emptiedDatabase } from "./emptied.js";

const all = testDatabases();
afterEach(stopAll);
afterAll(() => Promise.all(all.map((databases) => databases.stop())));

describe.each(all)("a durable quota of tokens in $name", (databases) => {
  const ready = emptiedDatabase(databases);

  /** A gateway with a quota of 1,000 tokens, of which a request reserves 400. The path says what it really takes. */
  async function start(more: object = {}, gateway: object = {}) {
    const database = await ready();
    const durableStore = new LedgerStore(database, {
      actor: "node-1",
      clock: systemClock,
      sweepMs: 0,
    });
    const upstream = await startUpstream((request, response) => {
      response.setHeader("content-type", "text/event-stream");
      response.write(": begun\n\n");
      if (request.url === "/broken") response.destroy();
      else response.end(`data: {"usage":{"total_tokens":${request.url?.slice(1)}}}\n\n`);
    });
    const rule = {
      id: "tokens",
      key: "header:x-tenant",
      limit: { quota: { limit: 1_000, period: "month" } },
      durable: true,
      cost: 400,
      settle: { json: "usage.total_tokens" },
      ...more,
    };
    const { url, core } = await startGateway(upstream, {
      rules: [rule],
      core: { durableStore },
      gateway,
    });
    const headers = { "x-tenant": "acme" };
    const facts = { method: "GET", path: "/", headers };
    return {
      database,
      ask: async (path: string, more: object = {}) => {
        const response = await fetch(`${url}${path}`, { headers: { ...headers, ...more } });
        await response.text().catch(() => {});
        return response.status;
      },
      untilLeft: (units: number) =>
        eventually(async () => {
          const [state] = await core.policy.state(facts);
          return state.remaining === units;
        }, `${units} tokens left`),
      entries: async () => {
        const rows = await database.query(
          "SELECT kind, amount, balance FROM ledger_entries ORDER BY sequence",
        );
        return rows.map(({ kind, amount, balance }) => [kind, Number(amount), Number(balance)]);
      },
    };
  }

  it("is charged what responses say: less than was reserved, more, and below zero at the end", async () => {
    const { database, ask, untilLeft } = await start();
    expect(await ask("/46")).toBe(200);
    await untilLeft(954);
    expect(await ask("/500")).toBe(200);
    await untilLeft(454);
    expect(await ask("/900")).toBe(200);
    await untilLeft(0);
    expect(await ask("/1")).toBe(429);
    const [{ balance }] = await database.query("SELECT balance FROM ledger_accounts");
    expect(Number(balance)).toBe(1_000 - 46 - 500 - 900);
    expect(await verifyLedger(database)).toMatchObject({ accounts: 1, problems: [] });
  });

  it("reserves with one entry and commits with another, for each request", async () => {
    const { ask, untilLeft, entries } = await start();
    await ask("/46");
    await untilLeft(954);
    const kinds = (await entries()).map(([kind]) => kind);
    expect(kinds.filter((kind) => kind === "reserve" || kind === "commit")).toEqual([
      "reserve",
      "commit",
    ]);
  });

  it("keeps what was reserved for a response that its backend cut short", async () => {
    const { database, ask, untilLeft, entries } = await start();
    await ask("/broken");
    await eventually(async () => (await entries()).at(-1)?.[0] === "commit", "a commit");
    await untilLeft(600);
    expect(await verifyLedger(database)).toMatchObject({ problems: [] });
  });

  it("is charged once for a request that is sent again, later and at the same moment", async () => {
    const { database, ask, untilLeft, entries } = await start(
      {},
      { requestIdHeader: "idempotency-key" },
    );
    const retry = { "idempotency-key": "a" };
    expect(await ask("/46", retry)).toBe(200);
    await untilLeft(954);
    expect(await Promise.all([ask("/46", retry), ask("/46", retry)])).toEqual([200, 200]);
    const other = { "idempotency-key": "b" };
    await Promise.all([ask("/54", other), ask("/54", other), ask("/54", other)]);
    await untilLeft(900);
    expect((await entries()).map(([kind, amount]) => `${kind} ${amount}`)).toEqual([
      "grant 1000",
      "reserve -400",
      "commit 354",
      "reserve -400",
      "commit 346",
    ]);
    expect(await verifyLedger(database)).toMatchObject({ problems: [] });
  });

  it("is settled out of leases too", async () => {
    const { ask, untilLeft } = await start({ consistency: "leased" });
    expect(await ask("/46")).toBe(200);
    await untilLeft(954);
    expect(await ask("/500")).toBe(200);
    await untilLeft(454);
  });
});
