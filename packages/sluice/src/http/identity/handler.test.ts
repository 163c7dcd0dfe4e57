import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, describe, expect, it } from "vitest";
import { createPolicy } from "../../rules/policy/create-policy.js";
import { rateLimit } from "../adapters/node/node.js";
import type { IdentityOptions, TokenVerifier } from "./identity.js";

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function serve(rules: object[], identity: IdentityOptions): Promise<string> {
  const policy = createPolicy({ rules: { version: 1, rules } });
  const limited = rateLimit(policy, { identity });
  const server = createServer(
    limited.wrap(async (request, response) => response.end(await text(request))),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closers.push(() => {
    server.closeAllConnections();
    server.close();
    return policy.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function counting(claims: Record<string, unknown>): { jwt: TokenVerifier; asked: () => number } {
  let asked = 0;
  const claimsOf = () => {
    asked++;
    return Promise.resolve(claims);
  };
  return { jwt: { header: "authorization", claimsOf }, asked: () => asked };
}

function login(url: string, body: object): Promise<Response> {
  const headers = { "content-type": "application/json" };
  return fetch(`${url}/login`, { method: "POST", headers, body: JSON.stringify(body) });
}

describe("a request handler", () => {
  it("verifies no token of a request that is refused by address, nor where no rule asks", async () => {
    const { jwt, asked } = counting({ sub: "42" });
    const rules = [
      { id: "address", key: "ip", limit: "2/minute" },
      { id: "user", match: { path: "/api/*" }, key: "user", limit: "100/minute" },
    ];
    const url = await serve(rules, { jwt, user: { claim: "sub" } });
    expect((await fetch(`${url}/free`)).status).toBe(200);
    expect(asked()).toBe(0);
    expect((await fetch(`${url}/api/a`)).status).toBe(200);
    expect(asked()).toBe(1);
    expect((await fetch(`${url}/api/a`)).status).toBe(429);
    expect(asked()).toBe(1);
  });

  it("counts logins by the account in the body, which the handler still gets", async () => {
    const rules = [
      { id: "login", match: { path: "/login" }, key: "body:account", limit: "1/minute" },
    ];
    const url = await serve(rules, {});
    const first = await login(url, { account: "ann", password: "a" });
    expect([first.status, await first.json()]).toEqual([200, { account: "ann", password: "a" }]);
    expect((await login(url, { account: "Ann", password: "b" })).status).toBe(429);
    expect((await login(url, { account: "bob" })).status).toBe(200);
  });

  it("keeps an API key out of everything that it answers", async () => {
    const key = "sk-live-0123456789";
    const rules = [{ id: "api", key: "apiKey", limit: "1/minute" }];
    const url = await serve(rules, { apiKey: {} });
    const answers = [];
    for (let i = 0; i < 2; i++) {
      const response = await fetch(url, { headers: { "x-api-key": key } });
      answers.push(response.status, [...response.headers], await response.text());
    }
    expect(answers).toContain(429);
    expect(JSON.stringify(answers)).not.toContain("0123456789");
  });
});
