// What is counted is what is forwarded: a field that ends at the gateway, or comes from a peer that is not
// trusted, can't give a client a new key for each request.

import { rawExchange } from "sluice-test-servers";
import { afterEach, describe, expect, it } from "vitest";
import { openTestListener, type TestListener } from "../decision-listener.js";
import { type GatewayFixture, startFixture } from "../gateway-fixture.js";

const IDENTITY = {
  apiKey: { header: "x-api-key", scheme: "key" },
  user: { header: "x-user", trust: "anyone" },
  attributes: { country: { header: "x-country", trust: "anyone" } },
} as const;

function toRule(key: string) {
  return {
    id: "two",
    key,
    limit: { fixedWindow: { limit: 2, windowMs: 3_600_000, align: "first" } },
  };
}

/** A dimension of a key, and a field with a different value in each request. */
const NAMED: readonly [key: string, name: string, toValue: (i: number) => string][] = [
  ["apiKey", "x-api-key", (i) => `junk${i}`],
  ["apiKey", "authorization", (i) => `Key junk${i}`],
  ["cookie:session", "cookie", (i) => `session=junk${i}`],
  ["header:x-plan", "x-plan", (i) => `junk${i}`],
  ["user", "x-user", (i) => `junk${i}`],
  ["attribute:country", "x-country", (i) => `junk${i}`],
];

describe("through the gateway", () => {
  let fixture: GatewayFixture;
  afterEach(() => fixture.close());

  async function statusesOf(key: string, toRequest: (i: number) => string): Promise<string[]> {
    fixture = await startFixture({ rules: [toRule(key)], config: { identity: IDENTITY } });
    const statuses: string[] = [];
    for (let i = 0; i < 3; i++) {
      statuses.push((await rawExchange(fixture.url, toRequest(i))).slice(9, 12));
    }
    return statuses;
  }

  function toHead(lines: string): string {
    return `GET / HTTP/1.1\r\nHost: example.com\r\n${lines}\r\n`;
  }

  it.each(NAMED)("%s is not read from a %s that Connection names", async (key, name, toValue) => {
    const statuses = await statusesOf(key, (i) =>
      toHead(`Connection: close, ${name.toUpperCase()}\r\n${name}: ${toValue(i)}\r\n`),
    );
    expect(statuses).toEqual(["200", "200", "429"]);
    expect(fixture.upstream.seen.map(({ headers }) => headers[name])).toEqual([
      undefined,
      undefined,
    ]);
  });

  it.each(NAMED)("%s is read from a %s that is forwarded", async (key, name, toValue) => {
    const statuses = await statusesOf(key, (i) =>
      toHead(`Connection: close\r\n${name}: ${toValue(i)}\r\n`),
    );
    expect(statuses).toEqual(["200", "200", "200"]);
    expect(fixture.upstream.seen.map(({ headers }) => headers[name])).toEqual(
      [0, 1, 2].map(toValue),
    );
  });

  it.each([
    "keep-alive",
    "te",
    "upgrade",
    "proxy-authorization",
    "proxy-connection",
    "forwarded",
    "x-real-ip",
    "x-forwarded-for",
    "x-forwarded-user",
    "x-original-url",
  ])("%s from an untrusted peer is not counted by", async (name) => {
    const statuses = await statusesOf(`header:${name}`, (i) =>
      toHead(`Connection: close\r\n${name}: junk${i}\r\n`),
    );
    expect(statuses).toEqual(["200", "200", "429"]);
  });

  it.each([
    ["header:x-plan", "x-plan: real", (i: number) => `X-Plan: junk${i}`],
    ["apiKey", "x-api-key: real", (i: number) => `X-Api-Key: junk${i}`],
    ["user", "x-user: real", (i: number) => `X-User: junk${i}`],
  ])("%s is missing if it has several values", async (key, line, toOther) => {
    const statuses = await statusesOf(key, (i) =>
      toHead(`Connection: close\r\n${line}\r\n${toOther(i)}\r\n`),
    );
    expect(statuses).toEqual(["200", "200", "429"]);
  });

  it("a rule is not matched by a header that Connection names", async () => {
    const gold = { ...toRule("ip"), match: { headers: { "x-plan": ["gold"] } } };
    fixture = await startFixture({ rules: [gold] });
    const statuses: string[] = [];
    for (const named of [
      "close, x-plan",
      "close, X-Plan",
      "close, x-plan",
      "close",
      "close",
      "close",
    ]) {
      const head = toHead(`Connection: ${named}\r\nX-Plan: gold\r\n`);
      statuses.push((await rawExchange(fixture.url, head)).slice(9, 12));
    }
    expect(statuses).toEqual(["200", "200", "200", "200", "200", "429"]);
  });

  it("a key that is spelt with _ beside the counted one is not forwarded", async () => {
    const statuses = await statusesOf("apiKey", (i) =>
      toHead(`Connection: close\r\nX-API-Key: counted\r\nX_API_Key: junk${i}\r\n`),
    );
    expect(statuses).toEqual(["200", "200", "429"]);
    const [{ headers }] = fixture.upstream.seen;
    expect(headers).toMatchObject({ "x-api-key": "counted" });
    expect(headers).not.toHaveProperty("x_api_key");
  });

  it("a body is read as the upstream reads it, whatever Connection hides", async () => {
    const body = JSON.stringify({ username: "bob" });
    const fields = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
    const hidden = "Connection: close, Content-Encoding\r\nContent-Encoding: gzip\r\n";
    const rule = { ...toRule("body:username"), onMissing: "skip" };
    fixture = await startFixture({ rules: [rule] });
    const head = `POST / HTTP/1.1\r\nHost: example.com\r\n${fields}${hidden}\r\n`;
    for (const status of ["200", "200", "429"]) {
      expect((await rawExchange(fixture.url, head + body)).slice(9, 12)).toBe(status);
    }
    expect(fixture.upstream.seen[0].headers["content-encoding"]).toBeUndefined();
  });

  it.each([
    ["application/json", (i: number) => `{"username":"junk${i}","Username":"ann"}`],
    ["application/x-www-form-urlencoded", (i: number) => `username=junk${i}&+username=ann`],
  ])("body:username is missing if an %s body has it in several spellings", async (type, toBody) => {
    const statuses = await statusesOf("body:username", (i) => {
      const body = toBody(i);
      const fields = `Content-Type: ${type}\r\nContent-Length: ${body.length}\r\n`;
      return `POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${fields}\r\n${body}`;
    });
    expect(statuses).toEqual(["200", "200", "429"]);
  });

  it("a body is not read, nor forwarded, that has two types", async () => {
    // As JSON it names another user each time, as a form always the same.
    const statuses = await statusesOf("body:username", (i) => {
      const body = `{"username":"junk${i}","a":"&username=ann&"}`;
      const types = ["application/json", "application/x-www-form-urlencoded"];
      const fields = types.map((type) => `Content-Type: ${type}\r\n`).join("");
      const length = `Content-Length: ${body.length}\r\n`;
      return `POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${fields}${length}\r\n${body}`;
    });
    expect(statuses).toEqual(["400", "400", "400"]);
    expect(fixture.upstream.seen).toEqual([]);
  });

  it("the address that a trusted proxy names is read, whatever Connection names", async () => {
    const identity = { trustedProxies: ["loopback"], clientAddress: { header: "x-client" } };
    fixture = await startFixture({ rules: [toRule("ip")], config: { identity } });
    for (const [client, status] of [
      ["203.0.113.1", "200"],
      ["203.0.113.1", "200"],
      ["203.0.113.1", "429"],
      ["203.0.113.2", "200"],
    ]) {
      const head = toHead(`Connection: close, x-client\r\nX-Client: ${client}\r\n`);
      expect((await rawExchange(fixture.url, head)).slice(9, 12)).toBe(status);
    }
  });
});

describe("by forward-auth", () => {
  let test: TestListener;
  afterEach(() => test.close());

  const asked = [
    "X-Forwarded-Method: GET",
    "X-Forwarded-Uri: /a",
    "X-Forwarded-For: 203.0.113.10",
    "X-Original-Method: GET",
    "X-Original-URI: /a",
    "X-Real-IP: 203.0.113.10",
  ].join("\r\n");

  async function statusesAt(path: string, key: string, toLines: (i: number) => string) {
    test = await openTestListener({
      rules: [toRule(key)],
      config: { identity: { ...IDENTITY, trustedProxies: ["loopback"] } },
    });
    const statuses: string[] = [];
    for (let i = 0; i < 3; i++) {
      const head = `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${asked}\r\n${toLines(i)}\r\n`;
      statuses.push((await rawExchange(test.listener.url, head)).slice(9, 12));
    }
    return statuses;
  }

  it.each(NAMED)("%s is not read from a %s that Connection names", async (key, name, toValue) => {
    const toLines = (i: number) => `Connection: close, ${name}\r\n${name}: ${toValue(i)}\r\n`;
    expect(await statusesAt("/check", key, toLines)).toEqual(["204", "204", "429"]);
  });

  it("what the proxy says is read, whatever Connection names", async () => {
    const named = "X-Original-Method, X-Original-URI, X-Real-IP";
    const toLines = () => `Connection: close, ${named}\r\n`;
    expect(await statusesAt("/check/nginx", "ip", toLines)).toEqual(["204", "204", "403"]);
  });
});
