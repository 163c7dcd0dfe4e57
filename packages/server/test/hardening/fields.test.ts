// Fields through the whole gateway: too many of them, those about limits, and those that say who the client is.

import { rawExchange } from "sluice-test-servers";
import { afterEach, describe, expect, it } from "vitest";
import { type FixtureOptions, type GatewayFixture, startFixture } from "../gateway-fixture.js";

let fixture: GatewayFixture;
afterEach(() => fixture.close());

async function start(options: FixtureOptions = {}): Promise<void> {
  fixture = await startFixture(options);
  fixture.upstream.server.maxHeadersCount = 0;
}

function get(fields: string, path = "/a"): string {
  return `GET ${path} HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n${fields}\r\n`;
}

function fieldsOf(answer: string, name: RegExp): string[] {
  return answer
    .split("\r\n\r\n", 1)[0]
    .split("\r\n")
    .filter((line) => name.test(line));
}

const PER_ADDRESS = {
  id: "all",
  key: "ip",
  limit: { fixedWindow: { limit: 100, windowMs: 3_600_000, align: "first" } },
};

describe("many fields", () => {
  it("are refused with 431 when there are 2,500 of them, and nothing goes on", async () => {
    await start();
    const answer = await rawExchange(fixture.url, get("a: b\r\n".repeat(2_500)));
    expect(answer).toMatch(/^HTTP\/1.1 431 /);
    expect(fixture.upstream.begun).toEqual([]);
  });

  it("are refused from one beyond the bound, and all go on up to it", async () => {
    await start({ gateway: { headersMax: 50 } });
    const most = "X-A: b\r\n".repeat(48);
    expect(await rawExchange(fixture.url, get(most))).toMatch(/^HTTP\/1.1 200 /);
    expect(await rawExchange(fixture.url, get(`${most}X-A: b\r\n`))).toMatch(/^HTTP\/1.1 431 /);
    expect(fixture.upstream.seen).toHaveLength(1);
    expect(fixture.upstream.seen[0].rawHeaders.filter((name) => name === "X-A")).toHaveLength(48);
  });

  it("go on to the last where 2,500 are allowed: none is dropped on the way", async () => {
    const gateway = { headersMax: 3_000, headerBytesMax: 65_536 };
    await start({ gateway, upstreamServer: { maxHeaderSize: 131_072 } });
    const many = Array.from({ length: 2_500 }, (_, i) => `x-${i}: ${i}\r\n`).join("");
    expect(await rawExchange(fixture.url, get(many))).toMatch(/^HTTP\/1.1 200 /);
    const { headers } = fixture.upstream.seen[0];
    for (let i = 0; i < 2_500; i++) expect(headers[`x-${i}`]).toBe(`${i}`);
  });

  it("are refused with 431 when they are large, in all or alone", async () => {
    await start();
    expect(await rawExchange(fixture.url, get(`X-A: ${"b".repeat(20_000)}\r\n`))).toMatch(
      /^HTTP\/1.1 431 /,
    );
    expect(await rawExchange(fixture.url, get(`X-A: ${"b".repeat(200)}\r\n`.repeat(100)))).toMatch(
      /^HTTP\/1.1 431 /,
    );
    expect(await rawExchange(fixture.url, get("", `/${"a".repeat(20_000)}`))).toMatch(
      /^HTTP\/1.1 431 /,
    );
    expect(fixture.upstream.begun).toEqual([]);
  });
});

describe("fields about limits", () => {
  const theirs = {
    RateLimit: '"theirs";r=1',
    "RateLimit-Policy": '"theirs";q=1',
    "ratelimit-limit": "1",
    "X-RateLimit-Limit": "1",
    "X-RateLimit-Remaining": "1",
    "x-ratelimit-reset": "1",
    "X-RateLimit-Bucket": "theirs",
  };

  it("of the upstream are replaced by ours, and none is there twice", async () => {
    await start({
      rules: [PER_ADDRESS],
      answer: (_, response) => response.writeHead(200, theirs).end("ok"),
    });
    const answer = await rawExchange(fixture.url, get(""));
    expect(answer).not.toContain("theirs");
    const lines = fieldsOf(answer, /^(?:x-)?ratelimit/i);
    expect(lines.map((line) => line.split(":")[0])).toEqual([
      "RateLimit-Policy",
      "RateLimit",
      "X-RateLimit-Limit",
      "X-RateLimit-Remaining",
      "X-RateLimit-Reset",
    ]);
    expect(lines[3]).toBe("X-RateLimit-Remaining: 99");
  });

  it("of the upstream stay where no rule of ours is about the request", async () => {
    await start({
      rules: [{ ...PER_ADDRESS, match: { path: "/other" } }],
      answer: (_, response) => response.writeHead(200, theirs).end("ok"),
    });
    expect(fieldsOf(await rawExchange(fixture.url, get("")), /^(?:x-)?ratelimit/i)).toHaveLength(7);
  });

  it("that a client sends go on and change nothing", async () => {
    await start({ rules: [PER_ADDRESS] });
    const answer = await rawExchange(
      fixture.url,
      get("RateLimit: mine\r\nX-RateLimit-Remaining: 7\r\n"),
    );
    expect(answer).toContain("X-RateLimit-Remaining: 99");
  });
});

describe("fields that say who the client is", () => {
  it("are ours, and no Connection takes them away", async () => {
    await start();
    const names =
      "X-Forwarded-For, X-Forwarded-Proto, X-Forwarded-Host, Host, Content-Length, Transfer-Encoding";
    await rawExchange(
      fixture.url,
      get(`Connection: ${names}\r\nX-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: https\r\n`),
    );
    expect(fixture.upstream.seen[0].headers).toMatchObject({
      host: "example.com",
      "x-forwarded-for": "127.0.0.1",
      "x-forwarded-proto": "http",
      "x-forwarded-host": "example.com",
    });
  });

  it("are replaced where a stranger sent them, and those that can't be checked are dropped", async () => {
    await start();
    const lies = [
      "X-Forwarded-For: 192.0.2.1",
      "x-forwarded-for: 192.0.2.2",
      "X_Forwarded_For: 192.0.2.3",
      "Forwarded: for=192.0.2.4",
      "X-Real-IP: 192.0.2.5",
      "X-Forwarded-Host: bad.example.com",
      "X-Forwarded-Port: 1",
      "X-Original-URL: /admin",
      "X-Rewrite-URL: /admin",
    ];
    await rawExchange(fixture.url, get(`${lies.join("\r\n")}\r\n`));
    const { rawHeaders } = fixture.upstream.seen[0];
    expect(rawHeaders.join("\n")).not.toMatch(/192\.0\.2|bad|admin|Port/);
    expect(rawHeaders.filter((name) => /x.forwarded.for/i.test(name))).toHaveLength(1);
  });

  it("of a trusted proxy are trusted, continued, and counted by", async () => {
    const one = {
      ...PER_ADDRESS,
      limit: { fixedWindow: { limit: 1, windowMs: 3_600_000, align: "first" } },
    };
    await start({ rules: [one], config: { identity: { trustedProxies: ["127.0.0.1/32"] } } });
    expect(await rawExchange(fixture.url, get("X-Forwarded-For: 192.0.2.1\r\n"))).toMatch(
      /^HTTP\/1.1 200/,
    );
    expect(await rawExchange(fixture.url, get("X-Forwarded-For: 192.0.2.2\r\n"))).toMatch(
      /^HTTP\/1.1 200/,
    );
    expect(
      await rawExchange(fixture.url, get("X-Forwarded-For: 192.0.2.9, 192.0.2.2\r\n")),
    ).toMatch(/^HTTP\/1.1 429/);
    expect(fixture.upstream.seen.map(({ headers }) => headers["x-forwarded-for"])).toEqual([
      "192.0.2.1, 127.0.0.1",
      "192.0.2.2, 127.0.0.1",
    ]);
  });

  it("don't let an untrusted client pass as another to the rules", async () => {
    const one = {
      ...PER_ADDRESS,
      limit: { fixedWindow: { limit: 1, windowMs: 3_600_000, align: "first" } },
    };
    await start({ rules: [one] });
    expect(await rawExchange(fixture.url, get("X-Forwarded-For: 192.0.2.1\r\n"))).toMatch(
      /^HTTP\/1.1 200/,
    );
    expect(await rawExchange(fixture.url, get("X-Forwarded-For: 192.0.2.2\r\n"))).toMatch(
      /^HTTP\/1.1 429/,
    );
  });
});
