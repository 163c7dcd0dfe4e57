import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { type ControlAdmin, startControlAdmin } from "../../../test/control/admin-fixture.js";
import { testDatabases } from "../../../test/control/databases.js";
import { IDLE_MS_MAX, SESSION_MS_MAX, Sessions } from "./sessions.js";

const all = testDatabases();
afterAll(() => Promise.all(all.map((each) => each.stop())));

let admin: ControlAdmin;

async function logIn(token = admin.tokens.admin, headers: Record<string, string> = {}) {
  const answer = await admin.ask("POST /v1/session", { as: "none", body: { token }, headers });
  const cookie = answer.headers.get("set-cookie") ?? "";
  return { ...answer, cookie, session: { cookie: cookie.split(";")[0] } };
}

const asPage = (headers: Record<string, string>, body?: unknown) => ({
  as: "none" as const,
  headers,
  ...(body === undefined ? {} : { body }),
});

describe.each(all)("a browser's session, with $name,", (databases) => {
  beforeEach(async () => {
    admin = await startControlAdmin(await databases.ready(), {
      admin: { hosts: ["admin.example.com"] },
    });
  });
  afterEach(() => admin.close());

  it("begins with a token, and its cookie can't be read by scripts or sent from elsewhere", async () => {
    const { status, body, cookie, session } = await logIn();
    expect([status, body.name, body.role]).toEqual([200, "the admin", "admin"]);
    expect(cookie).toMatch(/^sluice_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/);
    const { body: again } = await admin.ask("GET /v1/session", asPage(session));
    expect(again.csrfToken).toBe(body.csrfToken);
    expect((await admin.ask("GET /v1/plans", asPage(session))).status).toBe(200);
  });

  it("changes something only with its CSRF token", async () => {
    const { body, session } = await logIn();
    const put = (headers: Record<string, string>) =>
      admin.ask("PUT /v1/plans/pro", asPage({ ...session, ...headers }, {}));
    const other = await logIn();
    for (const headers of [{}, { "x-csrf-token": "" }, { "x-csrf-token": other.body.csrfToken }]) {
      expect([(await put(headers as never)).status]).toEqual([403]);
    }
    expect((await put({ "x-csrf-token": body.csrfToken })).status).toBe(200);
    expect((await admin.ask("GET /v1/audit?kind=plan")).body.items).toMatchObject([
      { actor: "the admin" },
    ]);
  });

  it("is refused to pages of other origins, and under names that lead here from elsewhere", async () => {
    const { session } = await logIn();
    const get = async (headers: Record<string, string>) =>
      (await admin.ask("GET /v1/plans", asPage({ ...session, ...headers }))).status;
    expect(await get({ origin: "https://evil.example" })).toBe(403);
    expect(await get({ "sec-fetch-site": "cross-site" })).toBe(403);
    expect(await get({ "sec-fetch-site": "same-origin" })).toBe(200);
    expect(await get({ origin: new URL(admin.url).origin })).toBe(200);
    expect(await get({ origin: "https://admin.example.com" })).toBe(200);
    const { hostname, port } = new URL(admin.url);
    const raw = (host: string) => rawStatus(hostname, Number(port), host, session.cookie);
    expect(await raw("evil.example")).toBe(403);
    expect(await raw("admin.example.com")).toBe(200);
    expect(await raw("localhost:9090")).toBe(200);
  });

  it("ends with a logout, after a time without requests, and after its longest time", async () => {
    const status = async ({ session }: { session: { cookie: string } }) =>
      (await admin.ask("GET /v1/plans", asPage(session))).status;
    const first = await logIn();
    const out = { ...first.session, "x-csrf-token": first.body.csrfToken };
    const left = await admin.ask("DELETE /v1/session", asPage(out));
    expect(left.headers.get("set-cookie")).toContain("Max-Age=0");
    expect(await status(first)).toBe(401);
    const idle = await logIn();
    admin.clock.advance(IDLE_MS_MAX - 1);
    expect(await status(idle)).toBe(200);
    admin.clock.advance(IDLE_MS_MAX);
    expect(await status(idle)).toBe(401);
    const long = await logIn();
    for (let ms = 0; ms < SESSION_MS_MAX - 60_000; ms += 60_000) {
      admin.clock.advance(60_000);
      if (ms % 600_000 === 0) expect(await status(long)).toBe(200);
    }
    admin.clock.advance(60_000);
    expect(await status(long)).toBe(401);
  });

  it("ends after a time without use, though its page asks by itself every minute", async () => {
    const { session } = await logIn();
    const poll = async () =>
      (await admin.ask("GET /v1/plans", asPage({ ...session, "sluice-background": "1" }))).status;
    for (let ms = 0; ms < IDLE_MS_MAX - 60_000; ms += 60_000) {
      admin.clock.advance(60_000);
      expect(await poll()).toBe(200);
    }
    // A click prolongs it.
    expect((await admin.ask("GET /v1/plans", asPage(session))).status).toBe(200);
    admin.clock.advance(IDLE_MS_MAX - 1);
    expect(await poll()).toBe(200);
    admin.clock.advance(1);
    expect(await poll()).toBe(401);
    expect((await admin.ask("GET /v1/plans", asPage(session))).status).toBe(401);
  });

  it("ends when its token is revoked or expires", async () => {
    const make = async (body: object) =>
      (await admin.ask("POST /v1/access-tokens", { body: { name: "x", role: "viewer", ...body } }))
        .body;
    const [revoked, expiring] = [
      await make({}),
      await make({ expiresAtMs: admin.clock.now() + 1_000 }),
    ];
    const sessions = [await logIn(revoked.secret), await logIn(expiring.secret)];
    const statuses = () =>
      Promise.all(
        sessions.map(
          async ({ session }) => (await admin.ask("GET /v1/plans", asPage(session))).status,
        ),
      );
    expect(await statuses()).toEqual([200, 200]);
    await admin.ask(`DELETE /v1/access-tokens/${revoked.id}`);
    admin.clock.advance(1_000);
    expect(await statuses()).toEqual([401, 401]);
  });

  it("has the role of its token, and none for a node's token", async () => {
    const { session, body } = await logIn(admin.tokens.viewer);
    const headers = { ...session, "x-csrf-token": body.csrfToken };
    expect((await admin.ask("PUT /v1/plans/pro", asPage(headers, {}))).body.code).toBe(
      "SLUICE_ROLE_INSUFFICIENT",
    );
    expect((await logIn(admin.tokens.node)).status).toBe(401);
  });

  it("can't be guessed: after ten failed logins an address waits, and right ones don't count", async () => {
    for (let i = 0; i < 15; i++) expect((await logIn()).status).toBe(200);
    for (let i = 0; i < 10; i++) expect((await logIn("wrong")).status).toBe(401);
    const limited = await logIn();
    expect([limited.status, limited.headers.get("retry-after")]).toEqual([
      429,
      expect.stringMatching(/^\d+$/),
    ]);
    admin.clock.advance(10 * 60_000);
    expect((await logIn()).status).toBe(200);
  });
});

describe("sessions", () => {
  const make = (sessionsMax: number) => {
    let made = 0;
    const clock = { nowMs: 0 };
    return {
      clock,
      sessions: new Sessions({
        nowMs: () => clock.nowMs,
        newSecret: () => `s${++made}`,
        sessionsMax,
      }),
    };
  };

  it("are bounded: the one that was used least recently makes room", () => {
    const { sessions } = make(3);
    const opened = ["a", "b", "c"].map((id) => sessions.open(id));
    sessions.find(opened[0]);
    sessions.open("d");
    expect(opened.map((secret) => sessions.find(secret) !== undefined)).toEqual([
      true,
      false,
      true,
    ]);
    expect(sessions.count).toBe(3);
  });

  it("of one token don't push out those of others", () => {
    const { sessions } = make(100);
    const other = sessions.open("other");
    for (let i = 0; i < 200; i++) sessions.open("greedy");
    expect(sessions.find(other)).toBeDefined();
    expect(sessions.count).toBe(21);
  });
});

/** The status of a request whose Host header is another one than its address: fetch would not send it. */
async function rawStatus(
  hostname: string,
  port: number,
  host: string,
  cookie: string,
): Promise<number> {
  const { request } = await import("node:http");
  return new Promise((resolve, reject) => {
    const headers = { host, cookie };
    const sent = request({ hostname, port, path: "/v1/plans", headers }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    sent.on("error", reject);
    sent.end();
  });
}
