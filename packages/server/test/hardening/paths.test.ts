// Hostile spellings of a path: none of them gets past a rule about it, and the upstream sees one spelling.

import { rawExchange } from "sluice-test-servers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type GatewayFixture, startFixture } from "../gateway-fixture.js";

let fixture: GatewayFixture;

/** Two rules: no request below /admin is allowed, all others are. */
beforeEach(async () => {
  const admin = {
    id: "admin",
    key: "global",
    match: { path: "/admin/*" },
    limit: { fixedWindow: { limit: 1, windowMs: 3_600_000, align: "first" } },
  };
  fixture = await startFixture({
    rules: [admin],
    config: { routes: [{ path: "/*", host: undefined, upstream: "app", preserveHost: true }] },
  });
  // The one place there is.
  await rawExchange(fixture.url, toGet("/admin/first"));
});
afterEach(() => fixture.close());

function toGet(target: string): string {
  return `GET ${target} HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n`;
}

const TO_ADMIN = [
  "/admin/x",
  "/admin/",
  "//admin/x",
  "/admin//x",
  "///admin///x",
  "/./admin/x",
  "/a/../admin/x",
  "/a/b/../../admin/x",
  "/../admin/x",
  "/../../admin/x",
  "/%61dmin/x",
  "/%61%64%6d%69%6e/x",
  "/%2e/admin/x",
  "/a/%2e%2e/admin/x",
  "/a/.%2E/admin/x",
  "/a/%2e./admin/x",
  "/ADMIN/x",
  "/Admin/x",
  "/aDmIn/x",
  "/admin/x?y",
  "/admin/./x",
  "/admin/y/../x",
  "/admin/%78",
  "/admin;v=1/x",
  "/admin/x;y",
  "/admin/x/",
  "http://example.com/admin/x",
  "http://example.com//admin/x",
  "http://EXAMPLE.com/a/../admin/x",
  "/;x/admin/x",
  "/a/..//admin/x",
  "/a//../admin/x",
  "/admin/..;x=/x/../y".replace("..;x=", "z"),
  "//example.com/../admin/x",
];

const REFUSED = [
  "/admin%2fx",
  "/admin%2Fx",
  "/admin%5cx",
  "/\\admin\\x",
  "/a\\..\\admin\\x",
  "\\admin\\x",
  "/admin/%00",
  "/admin%00/x",
  "/a/..;/admin/x",
  "/a/..;v=1/admin/x",
  "/a/%2e%2e;/admin/x",
  "/.;/admin/x",
  "/admin#/x",
  "/admin/x#y",
  "/a#/../admin/x",
  "/%c0%ae%c0%ae/admin/x",
  "/a%2f..%2fadmin/x",
  "/a%c0%afadmin",
  "/%gdmin",
  "/%2",
  "*",
  "admin/x",
  "http://other.example.com/admin/x",
  "/%u0061dmin/x",
  "/admin%0d%0a/x",
  "/admin%09/x",
];

const ELSEWHERE: readonly (readonly [string, string])[] = [
  ["/administrator", "/administrator"],
  ["/a/admin/x", "/a/admin/x"],
  ["/admin/../b", "/b"],
  ["/%2561dmin/x", "/%2561dmin/x"],
  ["/b?x=/admin/x", "/b?x=/admin/x"],
  ["/b?x=/../admin/x", "/b?x=/../admin/x"],
  ["/b%20c//d", "/b%20c/d"],
  ["/%c3%a9", "/%C3%A9"],
];

describe("a rule on /admin", () => {
  it.each(TO_ADMIN)("is about %s", async (target) => {
    expect(await rawExchange(fixture.url, toGet(target))).toMatch(/^HTTP\/1.1 429 /);
    expect(fixture.upstream.begun).toEqual(["/admin/first"]);
  });

  it.each(REFUSED)("is not needed for %s, which is refused", async (target) => {
    expect(await rawExchange(fixture.url, toGet(target))).toMatch(/^HTTP\/1.1 400 /);
    expect(fixture.upstream.begun).toEqual(["/admin/first"]);
  });

  it.each(ELSEWHERE)("is not about %s, which the upstream sees as %s", async (target, path) => {
    expect(await rawExchange(fixture.url, toGet(target))).toMatch(/^HTTP\/1.1 200 /);
    expect(fixture.upstream.begun).toEqual(["/admin/first", path]);
  });
});

describe("a route", () => {
  it("is chosen by the path that is forwarded", async () => {
    await fixture.close();
    fixture = await startFixture({
      routes: [{ path: "/public/*", host: undefined, upstream: "app", preserveHost: true }],
    });
    for (const target of [
      "/public/../private",
      "/public/%2e%2e/private",
      "/public//..//private",
      "/private",
    ]) {
      expect(await rawExchange(fixture.url, toGet(target))).toMatch(/^HTTP\/1.1 404 /);
    }
    expect(await rawExchange(fixture.url, toGet("/private/../public/a"))).toMatch(
      /^HTTP\/1.1 200 /,
    );
    expect(fixture.upstream.begun).toEqual(["/public/a"]);
  });
});
