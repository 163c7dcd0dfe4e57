// Credential stuffing against a real gateway and upstream, with rotating addresses and accounts: what `preset: login` lets
// through, and whom it leaves alone.

import { Agent, type IncomingMessage, request, type ServerResponse } from "node:http";
import { ManualClock } from "sluice/testing";
import { afterEach, describe, expect, it } from "vitest";
import { startGateway, startUpstream, stopAll } from "../../test/proxy-fixture.js";

afterEach(stopAll);

const MINUTE_MS = 60_000;
const agent = new Agent({ keepAlive: true, maxSockets: 8 });
const PRESET = { preset: "login", path: "/login", account: "body:username" };

interface Login {
  readonly ip: string;
  readonly username: string;
  readonly password: string;
}

/** A site with a login, behind a gateway: which attempts reached the site, and how each was answered. */
async function startSite(preset: object = PRESET) {
  const reached: Login[] = [];
  const site = await startUpstream(async (incoming: IncomingMessage, response: ServerResponse) => {
    let text = "";
    for await (const piece of incoming) text += piece;
    const login = { ...JSON.parse(text), ip: incoming.headers["x-forwarded-for"] } as Login;
    reached.push(login);
    response.writeHead(login.password === "right" ? 200 : 401).end();
  });
  const clock = new ManualClock(Date.UTC(2026, 0, 1));
  const { url, core } = await startGateway(site, {
    rules: [preset],
    config: { identity: { trustedProxies: ["loopback"] } },
    core: { clock },
  } as never);
  const send = (ip: string, body: string, type = "application/json") =>
    new Promise<number>((resolve, reject) => {
      const headers = { "content-type": type, "x-forwarded-for": ip };
      const sent = request(`${url}/login`, { method: "POST", agent, headers }, (response) => {
        response.resume().on("end", () => resolve(response.statusCode ?? 0));
      });
      sent.on("error", reject);
      sent.end(body);
    });
  const logIn = (ip: string, username: string, password = "wrong") =>
    send(ip, JSON.stringify({ username, password }));
  return { logIn, send, reached, clock, policy: core.policy };
}

describe("credential stuffing", () => {
  it("from one address stops after 20 failures, and then the address is blocked for longer each time", async () => {
    const { logIn, reached, clock, policy } = await startSite();
    for (let i = 0; i < 40; i++) await logIn("203.0.113.7", `user-${i}`);
    expect(reached).toHaveLength(20);
    const facts = {
      ...{ method: "POST", path: "/login", ip: "203.0.113.7" },
      body: { username: "anna" },
    };
    expect(await policy.peek(facts)).toMatchObject({ reason: "blocked", rule: "login-address" });
    // It goes on as soon as it may.
    clock.advance(MINUTE_MS);
    for (let i = 0; i < 60; i++) await logIn("203.0.113.7", `user-${i}`);
    const { blockedMs } = await policy.peek(facts);
    expect(blockedMs).toBe(10 * MINUTE_MS);
  });

  it("from rotating addresses of a network stops after 100 failures", async () => {
    const { logIn, reached } = await startSite();
    for (let i = 0; i < 150; i++) await logIn(`203.0.113.${i % 250}`, `user-${i}`);
    expect(reached).toHaveLength(100);
  });

  it("of one account stops after 10 failures, however many networks it comes from", async () => {
    const { logIn, reached } = await startSite();
    for (let i = 0; i < 40; i++) await logIn(`10.${i}.0.1`, i % 2 === 0 ? "Anna" : " anna ");
    expect(reached).toHaveLength(10);
  });

  it.each([
    ["is too large to be read", `{"username":"anna","pad":"${"x".repeat(17_000)}"}`, undefined],
    ["is of another type", '{"username":"anna"}', "text/plain"],
    ["names two accounts", "username=anna&username=anna", "application/x-www-form-urlencoded"],
    ["names none", '{"password":"wrong"}', undefined],
  ])("does not get around the limit of an account with a body that %s", async (_, body, type) => {
    const { send, reached } = await startSite();
    const statuses = new Set<number>();
    for (let i = 0; i < 3; i++) statuses.add(await send(`10.${i}.0.1`, body, type));
    expect(reached).toEqual([]);
    expect([...statuses]).toEqual([403]);
  });

  it("in parallel gets no more attempts through than one after another", async () => {
    const { logIn, reached } = await startSite();
    await Promise.all(Array.from({ length: 60 }, (_, i) => logIn(`10.${i}.0.1`, "anna")));
    expect(reached.length).toBeLessThanOrEqual(10);
  });

  it("leaves others alone, and successful logins count nothing", async () => {
    const { logIn } = await startSite();
    for (let i = 0; i < 60; i++) await logIn("203.0.113.7", `user-${i}`);
    const statuses = new Set<number>();
    for (let i = 0; i < 30; i++) statuses.add(await logIn("198.51.100.1", "bert", "right"));
    expect([...statuses]).toEqual([200]);
  });

  it("is only reported in shadow mode", async () => {
    const { logIn, reached } = await startSite({ ...PRESET, onExceed: "shadow" });
    for (let i = 0; i < 40; i++) expect(await logIn("203.0.113.7", "anna")).toBe(401);
    expect(reached).toHaveLength(40);
  });
});
