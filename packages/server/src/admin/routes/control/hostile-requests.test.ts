// What a caller can send to the control plane that no honest client does. Each is an answer of 4xx or harmless, never a
// 5xx, on both databases.

import { request } from "node:http";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { type ControlAdmin, startControlAdmin } from "../../../../test/control/admin-fixture.js";
import { testDatabases } from "../../../../test/control/databases.js";

const all = testDatabases();
afterAll(() => Promise.all(all.map((each) => each.stop())));

const RTL = "\u202e";
const REASON = { reason: "a test" };
const LIMIT = { rule: "login", limit: "5/minute", ...REASON };

describe.each(all)("the control plane in $name", (databases) => {
  let admin: ControlAdmin;
  beforeEach(async () => {
    admin = await startControlAdmin(await databases.ready());
  });
  afterEach(() => admin.close());

  it("refuses subjects that no database keeps as they are", async () => {
    for (const value of ["a\0b", "a\ud800", "\0"]) {
      const override = { body: { subject: `user:${value}`, ...LIMIT } };
      expect((await admin.ask("POST /v1/overrides", override)).status).toBe(400);
      const block = { body: { subjects: [`user:${value}`], ...REASON } };
      expect((await admin.ask("POST /v1/blocks", block)).status).toBe(400);
    }
    const emoji = { body: { subject: "user:\u{1f600}", ...LIMIT } };
    expect((await admin.ask("POST /v1/overrides", emoji)).status).toBe(201);
  });

  it("refuses names that would not look like what they are", async () => {
    await admin.ask("PUT /v1/tenants/acme", { body: {} });
    for (const name of [`${RTL}nimda`, "a\nb", "\u001b[31mred", "a\0b", "\ud800", " "]) {
      const token = { body: { name, role: "viewer" } };
      expect([name, (await admin.ask("POST /v1/access-tokens", token)).status]).toEqual([
        name,
        400,
      ]);
      const key = { body: { name, tenant: "acme" } };
      expect([name, (await admin.ask("POST /v1/api-keys", key)).status]).toEqual([name, 400]);
      const tenant = await admin.ask("PUT /v1/tenants/new", { body: { name } });
      expect([name, tenant.status]).toEqual([name, 400]);
    }
    const tenant = await admin.ask("PUT /v1/tenants/new", { body: { name: "Ümit 株式会社 😀" } });
    expect(tenant.status).toBe(200);
  });

  it.each(["admin.token", "local", " Local ", "anonymous"])(
    "has no token that the audit log would confuse with %j",
    async (name) => {
      const { status, body } = await admin.ask("POST /v1/access-tokens", {
        body: { name, role: "viewer" },
      });
      expect([status, body.detail]).toEqual([400, expect.stringContaining("another name")]);
    },
  );

  it("keeps ids and attributes that are names of Object.prototype, and nothing else of them", async () => {
    for (const id of ["__proto__", "constructor", "toString"]) {
      const plan = await admin.ask(`PUT /v1/plans/${id}`, { body: { tier: "gold" } });
      expect(plan).toMatchObject({ status: 200, body: { id, tier: "gold" } });
      const attributes = JSON.parse(`{"${id}":"x"}`);
      await admin.ask(`PUT /v1/tenants/${id}`, { body: { plan: id, attributes } });
      const { body } = await admin.ask(`GET /v1/tenants/${id}`);
      expect(Object.entries(body.attributes)).toEqual([[id, "x"]]);
      const limits = JSON.parse(`{"${id}":"5/minute"}`);
      expect((await admin.ask("PUT /v1/plans/p", { body: { limits } })).status).toBe(400);
      const query = await admin.ask(`GET /v1/plans?${id}=1`);
      expect([query.status, query.body.detail]).toEqual([400, expect.stringContaining(id)]);
    }
    expect(({} as { tier?: string }).tier).toBeUndefined();
  });

  it("does not make again what another operator removes while it is replaced with If-Match: *", async () => {
    for (let round = 0; round < 10; round++) {
      await admin.ask("PUT /v1/plans/pro", { body: { tier: "a" } });
      const headers = { "if-match": "*" };
      const [removed, replaced] = await Promise.all([
        admin.ask("DELETE /v1/plans/pro"),
        admin.ask("PUT /v1/plans/pro", { body: { tier: "b" }, headers }),
      ]);
      expect(removed.status).toBe(200);
      expect([200, 404]).toContain(replaced.status);
      expect((await admin.ask("GET /v1/plans/pro")).status).toBe(404);
    }
  });

  it("answers a path only as it is written, and a viewer's changes by no method", async () => {
    await admin.ask("PUT /v1/plans/pro", { body: { tier: "a" } });
    const paths = ["/v1/plans/pro", "/v1/plans/pro/", "//v1/plans/pro", "//x/v1/plans/pro"];
    const methods = ["PUT", "DELETE", "POST", "PATCH", "delete", "GET"];
    const override = { "x-http-method-override": "DELETE", "if-match": "*" };
    for (const path of paths) {
      for (const method of methods) {
        const status = await send(admin, method, path, override);
        const isRead = method === "GET" && path === "/v1/plans/pro";
        if (isRead) expect(status).toBe(200);
        else
          expect([path, method, [400, 403, 404, 405].includes(status)]).toEqual([
            path,
            method,
            true,
          ]);
      }
    }
    expect((await admin.ask("GET /v1/plans/pro")).body.tier).toBe("a");
  });
});

/** Sends a request as a viewer, with a target that fetch would have normalised. */
function send(
  { url, tokens }: ControlAdmin,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
): Promise<number> {
  const { hostname, port } = new URL(url);
  const authorization = `Bearer ${tokens.viewer}`;
  const all = { ...headers, authorization, "content-type": "application/json" };
  return new Promise((resolve, reject) => {
    const sent = request({ hostname, port, path, method, headers: all }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    sent.on("error", reject);
    sent.end(method === "GET" ? undefined : "{}");
  });
}
