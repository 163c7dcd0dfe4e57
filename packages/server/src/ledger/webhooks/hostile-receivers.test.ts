// Receivers that are slow, broken or hostile: each ends its delivery in time. The tests wait for timeouts, beside each
// other, with a database, a receiver and a clock each.

import { ManualClock } from "sluice/testing";
import { afterAll, beforeAll, describe, expect, it, type TestContext, vi } from "vitest";
import { testDatabases } from "../../../test/control/databases.js";
import { addQuotaEvent } from "../../../test/webhooks/quota-events.js";
import { type Respond, startReceiver } from "../../../test/webhooks/webhook-receiver.js";
import type { Database } from "../../database/database.js";
import { silentTelemetry } from "../../telemetry/silent-telemetry.js";
import { Webhooks } from "./webhooks.js";

const all = testDatabases();
afterAll(() => Promise.all(all.map((each) => each.stop())));

const START_MS = Date.UTC(2026, 4, 20);

/** Long enough for a request to arrive on a busy machine; only those that wait for it take all of it. */
const TIMEOUT_MS = 3_000;

/** Receivers that fail, and what is recorded of them. */
const FAILING: readonly (readonly [string, Respond, string])[] = [
  ["never answers", () => {}, "no response within 3 seconds"],
  ["resets the connection", (_, request) => void request.socket.resetAndDestroy(), "ECONNRESET"],
  ["drips its head", drip, "no response within 3 seconds"],
  [
    "redirects",
    (response) => void response.writeHead(307, { location: "/elsewhere" }).end(),
    "307, and redirects are not followed",
  ],
  [
    "sends an endless head",
    (_, request) => void request.socket.write(`HTTP/1.1 200 OK\r\nx: ${"x".repeat(200_000)}`),
    "HPE_HEADER_OVERFLOW",
  ],
  ["answers nonsense", (_, request) => void request.socket.write("hello\r\n\r\n"), "HPE_"],
];

/** Receivers whose status is good, and the rest of whose response is not. */
const BROKEN_BODIES: readonly (readonly [string, Respond])[] = [
  ["sends an endless body", endlessBody],
  ["drips its body", dripBody],
  [
    "breaks off in the body",
    (response, request) => {
      response.writeHead(200, { "content-length": "100" }).write("x");
      setTimeout(() => request.socket.destroy(), 20);
    },
  ],
];

describe.each(all)("webhooks over $name", (databases) => {
  const ready: Database[] = [];
  // Before any test waits for a timeout: making a database holds this process up.
  beforeAll(async () => {
    for (let n = 0; n <= FAILING.length + BROKEN_BODIES.length; n++)
      ready.push(await databases.ready());
  });

  /** A database with an event, and a receiver for it. */
  async function start({ onTestFinished }: Pick<TestContext, "onTestFinished">, respond: Respond) {
    const database = ready.pop();
    if (database === undefined) throw new Error("there is no database for every test");
    const clock = new ManualClock(START_MS);
    await addQuotaEvent(database, { atMs: clock.now() });
    const receiver = await startReceiver(respond);
    onTestFinished(() => receiver.close());
    const open = (timeoutMs: number) => {
      const usual = { name: "billing", url: receiver.url, secrets: ["a-secret-of-the-webhook"] };
      const webhook = { ...usual, isEnabled: true, timeoutMs, caFile: undefined };
      const webhooks = new Webhooks({
        database,
        webhooks: [webhook],
        telemetry: silentTelemetry(),
        nowMs: () => clock.now(),
        chance: () => 0.5,
      });
      onTestFinished(() => webhooks.close());
      return webhooks;
    };
    return { clock, receiver, open };
  }

  it.concurrent.for(FAILING)(
    "counts a receiver that %s as failed, and tries again",
    async ([, respond, error], test) => {
      const { clock, receiver, open } = await start(test, respond);
      const webhooks = open(TIMEOUT_MS);
      await run(webhooks);
      expect(receiver.requests).toHaveLength(1);
      expect(await only(webhooks)).toMatchObject({
        state: "pending",
        attempts: 1,
        lastError: expect.stringContaining(error),
      });
      receiver.respond = (response) => void response.writeHead(200).end();
      clock.advance(5_000);
      await run(open(5_000));
      expect(await only(webhooks)).toMatchObject({ state: "delivered" });
      expect(receiver.requests.every(({ path }) => path === "/hooks")).toBe(true);
    },
  );

  it.concurrent.for(BROKEN_BODIES)(
    "takes the status of a receiver that %s, and does not wait for the rest",
    async ([, respond], test) => {
      const { open } = await start(test, respond);
      const webhooks = open(TIMEOUT_MS);
      const startedMs = performance.now();
      await run(webhooks);
      expect(performance.now() - startedMs).toBeLessThan(30_000);
      expect(await only(webhooks)).toMatchObject({ state: "delivered", lastStatus: 200 });
    },
  );

  it.concurrent("cuts off what is in flight when it is closed, and records that", async (test) => {
    const { receiver, open } = await start(test, () => {});
    const webhooks = open(60_000);
    await webhooks.round();
    await vi.waitFor(() => expect(receiver.requests).toHaveLength(1), 10_000);
    await webhooks.close();
    expect(await only(webhooks)).toMatchObject({
      state: "pending",
      lastError: expect.stringContaining("the node was stopped"),
    });
  });
});

async function run(webhooks: Webhooks): Promise<void> {
  await webhooks.round();
  await webhooks.idle();
}

async function only({ deliveries }: Webhooks) {
  const found = await deliveries.list({ limit: 10 });
  expect(found).toHaveLength(1);
  return found[0];
}

/** Sends a byte of the head now and then, for ever. */
function drip(_: unknown, request: Parameters<Respond>[1]): void {
  request.socket.write("HTTP/1.1 200 OK\r\nx: ");
  const timer = setInterval(() => request.socket.write("x"), 20);
  request.socket.on("close", () => clearInterval(timer));
  request.socket.on("error", () => {});
}

function dripBody(response: Parameters<Respond>[0], request: Parameters<Respond>[1]): void {
  response.writeHead(200);
  const timer = setInterval(() => response.write("x"), 20);
  request.socket.on("close", () => clearInterval(timer));
}

function endlessBody(response: Parameters<Respond>[0]): void {
  response.writeHead(200);
  const send = () => {
    while (!response.destroyed && response.write("x".repeat(65_536)));
    if (!response.destroyed) response.once("drain", send);
  };
  send();
}
