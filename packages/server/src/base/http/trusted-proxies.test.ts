import { describe, expect, it } from "vitest";
import { TrustedProxies } from "./trusted-proxies.js";

describe("trusted peers", () => {
  it("are those that the configuration names, in whatever notation they come", () => {
    const peers = new TrustedProxies(["10.0.0.0/8", "loopback", "2001:db8::1"]);
    const trusted = ["10.1.2.3", "::ffff:10.1.2.3", "127.0.0.1", "::1", "2001:db8::1"];
    const strangers = ["11.0.0.1", "::ffff:11.0.0.1", "2001:db8::2", "", "nonsense", undefined];
    for (const peer of trusted) expect([peer, peers.has(peer)]).toEqual([peer, true]);
    for (const peer of strangers) expect([peer, peers.has(peer)]).toEqual([peer, false]);
    for (const peer of trusted) expect([peer, peers.has(peer)]).toEqual([peer, true]);
  });

  it("are none by default", () => {
    for (const peer of ["127.0.0.1", undefined])
      expect(new TrustedProxies([]).has(peer)).toBe(false);
  });

  it("may have no address, if that is said", () => {
    expect(new TrustedProxies(["unaddressed"]).has(undefined)).toBe(true);
  });
});
