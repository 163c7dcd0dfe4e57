import type { IncomingMessage } from "node:http";
import { describe, expect, it } from "vitest";
import { TrustedProxies } from "../../base/http/trusted-proxies.js";
import { isSecure, originOf } from "./caller.js";

const trusted = new TrustedProxies(["10.0.0.0/8"]);
const from = (remoteAddress: string, headers: Record<string, string> = {}) =>
  ({ socket: { remoteAddress }, headers }) as unknown as IncomingMessage;

describe("the address of a caller", () => {
  it.each([
    ["203.0.113.7", undefined, "203.0.113.7"],
    ["::ffff:203.0.113.7", undefined, "203.0.113.7"],
    ["203.0.113.7", "198.51.100.1", "203.0.113.7"],
    ["10.0.0.1", "198.51.100.1", "198.51.100.1"],
    ["10.0.0.1", "192.0.2.9, 198.51.100.1, 10.0.0.2", "198.51.100.1"],
    ["10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3"],
    ["10.0.0.1", " , ", "10.0.0.1"],
    ["10.0.0.1", undefined, "10.0.0.1"],
  ])("of a peer %s with X-Forwarded-For %j is %s", (peer, forwarded, address) => {
    const headers = forwarded === undefined ? {} : { "x-forwarded-for": forwarded };
    expect(originOf(from(peer, headers), trusted)).toBe(address);
  });
});

describe("a connection", () => {
  it.each([
    ["10.0.0.1", "https", true],
    ["10.0.0.1", "http", false],
    ["203.0.113.7", "https", false],
  ])("from %s with X-Forwarded-Proto %s is encrypted: %j", (peer, proto, expected) => {
    expect(isSecure(from(peer, { "x-forwarded-proto": proto }), trusted)).toBe(expected);
  });
});
