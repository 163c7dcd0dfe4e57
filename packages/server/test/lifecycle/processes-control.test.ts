// Several processes with a control plane: when a change is answered, every worker enforces it.

import { get } from "node:http";
import { afterAll, describe, expect, it } from "vitest";
import { testDatabases } from "../control/databases.js";
import { rulesOf, useServe } from "./serve-fixture.js";

const { serve } = useServe();
const all = testDatabases();
afterAll(() => Promise.all(all.map((each) => each.stop())));

/** More connections than workers, so that each of them answers some. */
const CONNECTIONS = 12;

/** The statuses of requests over connections of their own, each once. */
async function statusesOf(url: string, headers: Record<string, string> = {}): Promise<number[]> {
  const asked = Array.from(
    { length: CONNECTIONS },
    () =>
      new Promise<number>((resolve, reject) => {
        get(url, { agent: false, headers }, (response) => {
          response.resume();
          resolve(response.statusCode ?? 0);
        }).on("error", reject);
      }),
  );
  return [...new Set(await Promise.all(asked))];
}

describe.each(all)("a service with $name", (databases) => {
  it("of two workers enforces a block, a switch, a revoked key and a publish when it is answered, also one that was started again", async () => {
    const url = await databases.create();
    const served = serve(2, rulesOf(100_000), {
      control: { database: url },
      identity: { apiKeys: "control" },
    });
    const [gateway, admin] = [await served.url("gateway"), await served.url("admin")];
    const token = served.text.at(-1)?.trim() ?? "";
    expect(token).toMatch(/^slt_/);
    // It is printed, and not in the log.
    expect(JSON.stringify(served.log)).not.toContain(token);
    const send = async (method: string, path: string, body?: object) => {
      const response = await fetch(`${admin}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          "content-type": "application/json",
          "sluice-reason": "a test",
          ...(method === "DELETE" ? { "if-match": "*" } : {}),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const answer = (await response.json().catch(() => ({}))) as Record<string, unknown>;
      expect([path, Math.floor(response.status / 100), answer.detail]).toEqual([
        path,
        2,
        undefined,
      ]);
      return answer;
    };
    expect(await statusesOf(gateway)).toEqual([200]);
    for (let round = 0; round < 3; round++) {
      const block = await send("POST", "/v1/blocks", {
        subjects: ["ip:127.0.0.1"],
        reason: "a test",
      });
      expect(await statusesOf(gateway)).toEqual([429]);
      await send("DELETE", `/v1/blocks/${block.id}`);
      expect(await statusesOf(gateway)).toEqual([200]);
      await send("PUT", "/v1/switches/everybody", { state: "deny", reason: "a test" });
      expect(await statusesOf(gateway)).not.toContain(200);
      await send("DELETE", "/v1/switches/everybody");
      expect(await statusesOf(gateway)).toEqual([200]);
      await send("PUT", "/v1/node/switches/everybody", { state: "deny", reason: "a test" });
      expect(await statusesOf(gateway)).not.toContain(200);
      await send("DELETE", "/v1/node/switches/everybody");
      expect(await statusesOf(gateway)).toEqual([200]);
    }
    await send("PUT", "/v1/tenants/acme", {});
    const key = await send("POST", "/v1/api-keys", { tenant: "acme", name: "shop" });
    const withKey = { "x-api-key": String(key.secret) };
    expect(await statusesOf(gateway, withKey)).toEqual([200]);
    await send("DELETE", `/v1/api-keys/${key.id}`);
    expect(await statusesOf(gateway, withKey)).toEqual([401]);
    const [pid] = served.workerPids;
    process.kill(pid as number, "SIGKILL");
    await served.line(
      ({ msg, pid: other }) =>
        msg === "worker started" &&
        !([pid] as unknown[]).includes(other) &&
        served.workerPids.length === 3,
    );
    const draft = await send("POST", "/v1/rule-sets", { text: JSON.stringify(rulesOf(1)) });
    await send("POST", `/v1/rule-sets/${draft.number}/publish`, { note: "less", expected: 1 });
    expect(await statusesOf(gateway)).toEqual([429]);
  });

  it("of two workers stores when API keys were used, through the primary, before it ends", async () => {
    const url = await databases.create();
    const served = serve(2, rulesOf(100_000), {
      control: { database: url },
      identity: { apiKeys: "control" },
    });
    const [gateway, admin] = [await served.url("gateway"), await served.url("admin")];
    const headers = {
      authorization: `Bearer ${served.text.at(-1)?.trim()}`,
      "content-type": "application/json",
    };
    const send = async (method: string, path: string, body: object) => {
      const sent = { method, headers, body: JSON.stringify(body) };
      return (await (await fetch(`${admin}${path}`, sent)).json()) as Record<string, unknown>;
    };
    await send("PUT", "/v1/tenants/acme", {});
    const key = await send("POST", "/v1/api-keys", { tenant: "acme", name: "shop" });
    const startMs = Date.now();
    expect(await statusesOf(gateway, { "x-api-key": String(key.secret) })).toEqual([200]);
    served.signal("SIGTERM");
    expect(await served.exited).toBe(0);
    const hours = [startMs, Date.now()].map((ms) => Math.floor(ms / 3_600_000));
    const rows = await databases.open(url).query("SELECT key_id, hour FROM key_uses");
    expect(rows).toEqual([{ key_id: key.id, hour: expect.any(Number) }]);
    expect(hours).toContain(rows[0]?.hour);
  });
});
