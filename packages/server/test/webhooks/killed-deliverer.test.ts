// A node is killed while it sends: what it sent and could not record is sent again, under the same id.

import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { verifyWebhook } from "sluice/webhooks";
import { afterAll, describe, expect, it } from "vitest";
import { migrate } from "../../src/database/migrate.js";
import { Webhooks } from "../../src/ledger/webhooks/webhooks.js";
import { silentTelemetry } from "../../src/telemetry/silent-telemetry.js";
import { testDatabases } from "../control/databases.js";
import { addQuotaEvent } from "./quota-events.js";
import { type Respond, startReceiver } from "./webhook-receiver.js";

const all = testDatabases();
afterAll(() => Promise.all(all.map((each) => each.stop())));

const SECRET = "a-secret-of-the-billing-webhook";
const PROGRAM = join(import.meta.dirname, "deliverer-process.mjs");
/** More than the nodes that die can claim: each of them finds something to send. */
const EVENTS = 24;

describe.each(all)("nodes that are killed while they send, over $name", (databases) => {
  it("deliver every event at least once, and record every delivery", async () => {
    const url = await databases.create();
    const database = databases.open(url);
    await migrate(database);
    const ids: string[] = [];
    for (let n = 0; n < EVENTS; n++)
      ids.push(await addQuotaEvent(database, { subject: `tenant:${n}`, atMs: Date.now() }));
    let child: ChildProcess | undefined;
    const kill = () => child?.kill("SIGKILL");
    // Killed before it has the answer, and right behind the answer, in turns.
    const deaths: readonly Respond[] = [
      () => void kill(),
      (response) => void response.writeHead(204).end(kill),
    ];
    const receiver = await startReceiver();
    for (const die of [...deaths, ...deaths]) {
      receiver.respond = die;
      child = spawn(process.execPath, [PROGRAM, url, receiver.url, SECRET], { stdio: "inherit" });
      const [, signal] = await new Promise<unknown[]>((resolve) =>
        child?.once("exit", (...ended) => resolve(ended)),
      );
      expect(signal).toBe("SIGKILL");
    }
    receiver.respond = (response) => void response.writeHead(204).end();
    const webhook = { name: "billing", url: receiver.url, secrets: [SECRET], isEnabled: true };
    const survivor = new Webhooks({
      database,
      webhooks: [{ ...webhook, timeoutMs: 5_000, caFile: undefined }],
      telemetry: silentTelemetry(),
      // When the claims of those that died have ended.
      nowMs: () => Date.now() + 60_000,
    });
    for (let n = 0; n < EVENTS; n++) {
      await survivor.round();
      await survivor.idle();
    }
    await survivor.close();
    const received = receiver.requests.map(({ headers }) => String(headers["sluice-event-id"]));
    expect(new Set(received)).toEqual(new Set(ids));
    expect(received.length).toBeGreaterThan(EVENTS);
    const nowMs = Date.now();
    for (const { body, headers } of receiver.requests)
      expect(verifyWebhook({ body, headers, secret: SECRET, nowMs }).valid).toBe(true);
    const deliveries = await survivor.deliveries.list({ limit: 100 });
    expect(deliveries.map(({ state }) => state)).toEqual(ids.map(() => "delivered"));
    const begun = deliveries.reduce((sum, { attempts }) => sum + attempts, 0);
    expect(begun).toBeGreaterThanOrEqual(received.length);
    await receiver.close();
  });
});
