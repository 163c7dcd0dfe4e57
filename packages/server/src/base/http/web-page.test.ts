import { describe, expect, it } from "vitest";
import { isLocalHost, isOfPage, isUpstreamHost } from "./web-page.js";

describe("isOfPage", () => {
  it.each([
    ["a program", {}, false],
    ["fetch of Node.js", { "sec-fetch-mode": "cors" }, false],
    ["an address that a person typed", { "sec-fetch-site": "none" }, false],
    ["a page of elsewhere", { origin: "http://example.com" }, true],
    ["a page in a sandbox", { origin: "null" }, true],
    ["a page that says no more than that", { "sec-fetch-site": "cross-site" }, true],
    ["a page of another port", { "sec-fetch-site": "same-site" }, true],
    ["a page whose name leads here by now", { "sec-fetch-site": "same-origin" }, true],
  ])("recognises %s", (_, headers, isOf) => {
    expect(isOfPage(headers)).toBe(isOf);
  });
});

describe("isLocalHost", () => {
  it.each([
    "localhost",
    "LOCALHOST:9090",
    "127.0.0.1",
    "10.0.0.7:80",
    "[::1]",
    "[::1]:9090",
    "127.0.0.1:",
  ])("takes %s", (host) => {
    expect(isLocalHost(host)).toBe(true);
  });

  it.each([
    undefined,
    "",
    ":80",
    "example.com",
    "localhost.example.com:9090",
    "127.0.0.1.example.com",
    "127.0.0.1@example.com",
    "localhost:80.example.com",
    "127.1",
  ])("refuses %s, by which a page can be reached", (host) => {
    expect(isLocalHost(host)).toBe(false);
  });
});

describe("isUpstreamHost", () => {
  it.each(["sluice", "Sluice_1:8082", "localhost", "127.0.0.1", "[::1]:1"])("takes %s", (host) => {
    expect(isUpstreamHost(host)).toBe(true);
  });

  it.each([undefined, "", "example.com", "sluice.", "a.b:80"])("does not take %s", (host) => {
    expect(isUpstreamHost(host)).toBe(false);
  });
});
