import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { requestOf } from "../../../test/http/http-request.js";
import { HOPS_MAX } from "./client-address.js";
import type { HttpRequest } from "./http-request.js";
import { type IdentityOptions, toIdentity } from "./identity.js";

const PROXIES = { trustedProxies: ["10.0.0.0/8", "loopback", "2001:db8:ff::/48"] };
const peer = "10.0.0.1";

function ipOf(
  headers: Record<string, string | string[]>,
  options: IdentityOptions = PROXIES,
  from: string | undefined = peer,
): string | undefined {
  return toIdentity(options).read(requestOf({ headers, peer: from })).ip;
}

describe("the client's address by X-Forwarded-For", () => {
  //  what the header says                           whom it is counted for
  const cases: [string | string[], string][] = [
    ["203.0.113.7", "203.0.113.7"],
    ["198.51.100.1, 203.0.113.7", "203.0.113.7"],
    ["198.51.100.1, 203.0.113.7, 10.1.1.1", "203.0.113.7"],
    ["203.0.113.7,10.1.1.1,10.2.2.2", "203.0.113.7"],
    ["  203.0.113.7  ", "203.0.113.7"],
    ["203.0.113.7:4711", "203.0.113.7"],
    ["[2001:db8::7]:4711", "2001:db8::7"],
    ["2001:db8::7", "2001:db8::7"],
    ["198.51.100.1, 2001:db8:ff::1", "198.51.100.1"],
    ["203.0.113.7, ::ffff:10.1.1.1", "203.0.113.7"],
    ["203.0.113.7, ::ffff:0a01:0101", "203.0.113.7"],
    // Several lines are one list, in their order.
    [["198.51.100.1", "203.0.113.7, 10.1.1.1"], "203.0.113.7"],
    [["203.0.113.7", "10.1.1.1", "10.2.2.2"], "203.0.113.7"],
    // All trusted: the furthest of them.
    ["10.3.3.3, 10.2.2.2", "10.3.3.3"],
    ["10.3.3.3", "10.3.3.3"],
    // Nothing that can be read: the last address before it.
    ["", peer],
    [" ", peer],
    [",", peer],
    ["unknown", peer],
    ["_hidden", peer],
    ["203.0.113.7, unknown", peer],
    ["203.0.113.7, ", peer],
    ["203.0.113.7, unknown, 10.1.1.1", "10.1.1.1"],
    ["203.0.113.7,, 10.1.1.1", "10.1.1.1"],
    ["203.0.113.7, 10.1.1.1.1, 10.2.2.2", "10.2.2.2"],
    ["203.0.113.7, 010.1.1.1", peer],
    ["203.0.113.7, 10.1.1.1, 10.2.2.2;", peer],
    [",10.2.2.2", "10.2.2.2"],
    ['"203.0.113.7"', peer],
  ];
  it.each(cases)("%j is %s", (said, client) => {
    expect(ipOf({ "x-forwarded-for": said })).toBe(client);
  });

  it("is the peer's if the header is not there", () => {
    expect(ipOf({})).toBe(peer);
  });

  it("is the peer's if the peer is not trusted, whatever the header says", () => {
    expect(ipOf({ "x-forwarded-for": "203.0.113.7" }, PROXIES, "198.51.100.9")).toBe(
      "198.51.100.9",
    );
    expect(ipOf({ "x-forwarded-for": "10.1.1.1" }, PROXIES, "198.51.100.9")).toBe("198.51.100.9");
  });

  it("is the peer's if no proxy is trusted, which is the default", () => {
    expect(ipOf({ "x-forwarded-for": "203.0.113.7" }, {}, "127.0.0.1")).toBe("127.0.0.1");
    expect(ipOf({ forwarded: "for=203.0.113.7" }, {}, "127.0.0.1")).toBe("127.0.0.1");
  });

  it("is judged for each peer, regardless of earlier ones", () => {
    const identity = toIdentity(PROXIES);
    const headers = { "x-forwarded-for": "203.0.113.7" };
    const peers = [peer, "198.51.100.9", peer, "198.51.100.9", "198.51.100.9", "127.0.0.1"];
    const clients = peers.map((from) => identity.read(requestOf({ headers, peer: from })).ip);
    const real = "203.0.113.7";
    expect(clients).toEqual([real, "198.51.100.9", real, "198.51.100.9", "198.51.100.9", real]);
  });

  it("trusts a peer in its mapped form too", () => {
    expect(ipOf({ "x-forwarded-for": "203.0.113.7" }, PROXIES, "::ffff:127.0.0.1")).toBe(
      "203.0.113.7",
    );
  });

  it("reads no other header than the one that was chosen", () => {
    const headers = { "x-real-ip": "1.1.1.1", forwarded: "for=1.1.1.1", "client-ip": "1.1.1.1" };
    expect(ipOf(headers)).toBe(peer);
  });

  it("ends after a bounded number of proxies", () => {
    const proxies = Array.from({ length: HOPS_MAX + 5 }, (_, i) => `10.9.0.${i}`);
    expect(ipOf({ "x-forwarded-for": proxies.join(", ") })).toBe("10.9.0.5");
  });

  it("does not change with what a client wrote to the left of its own address", () => {
    const junk = fc.oneof(
      fc.string(),
      fc.constantFrom("10.1.1.1", "unknown", ",", '"', "203.0.113.9"),
    );
    fc.assert(
      fc.property(fc.array(junk), (parts) => {
        const said = [...parts, "203.0.113.7, 10.1.1.1"].join(",");
        expect(ipOf({ "x-forwarded-for": said })).toBe("203.0.113.7");
      }),
    );
  });
});

describe("the client's address by Forwarded", () => {
  const FORWARDED: IdentityOptions = { ...PROXIES, clientAddress: "forwarded" };
  const cases: [string | string[], string][] = [
    ["for=203.0.113.7", "203.0.113.7"],
    ["For=203.0.113.7;proto=https;by=10.0.0.1", "203.0.113.7"],
    ["proto=https;FOR=203.0.113.7", "203.0.113.7"],
    ['for="203.0.113.7:4711"', "203.0.113.7"],
    ['for="[2001:db8::7]:4711";host="a.example"', "2001:db8::7"],
    ['for="[2001:db8::7]"', "2001:db8::7"],
    ['for="2\\03.0.113.7"', "203.0.113.7"],
    ["for=198.51.100.1, for=203.0.113.7", "203.0.113.7"],
    ["for=203.0.113.7, for=10.1.1.1;proto=http", "203.0.113.7"],
    ["for=203.0.113.7 ; proto=http , for = 10.1.1.1", "203.0.113.7"],
    [["for=203.0.113.7", "for=10.1.1.1, for=10.2.2.2"], "203.0.113.7"],
    ['for=203.0.113.7, for=10.1.1.1;host="a, for=198.51.100.1"', "203.0.113.7"],
    ['for=203.0.113.7, for=10.1.1.1;host="a\\", for=198.51.100.1"', "203.0.113.7"],
    // A quote that a client opened does not swallow what proxies wrote behind it.
    ['for=", for=203.0.113.7, for=10.1.1.1', "203.0.113.7"],
    ['host="a, for=203.0.113.7;by="10.0.0.1", for=10.1.1.1', "203.0.113.7"],
    // All trusted: the furthest of them.
    ["for=10.3.3.3, for=10.2.2.2", "10.3.3.3"],
    // Nothing that can be read: the last address before it.
    ["", peer],
    ["for=unknown", peer],
    ['for="_gazonk"', peer],
    ["for=203.0.113.7, for=_hidden, for=10.1.1.1", "10.1.1.1"],
    ["for=203.0.113.7, proto=https", peer],
    ["for=203.0.113.7, for=10.1.1.1;for=10.2.2.2", peer],
    ["for=203.0.113.7, for=", peer],
    ['for=203.0.113.7, for="10.1.1.1', peer],
    ['for=203.0.113.7, for=10.1.1.1"', peer],
    ['for=203.0.113.7, for="10.1.1.1"x', peer],
    ["203.0.113.7", peer],
    ["for203.0.113.7", peer],
    ["=203.0.113.7", peer],
    ["xfor=203.0.113.7", peer],
  ];
  it.each(cases)("%j is %s", (said, client) => {
    expect(ipOf({ forwarded: said }, FORWARDED)).toBe(client);
  });

  it("does not change with what a client wrote to the left of its own address", () => {
    const junk = fc.oneof(fc.string(), fc.constantFrom('for="', "for=10.1.1.1", '\\"', ";", "\\"));
    fc.assert(
      fc.property(fc.array(junk), (parts) => {
        const said = [...parts, 'for=203.0.113.7, for="10.1.1.1:80"'].join(",");
        expect(ipOf({ forwarded: said }, FORWARDED)).toBe("203.0.113.7");
      }),
    );
  });

  it("reads what a proxy writes, with any string in quotes", () => {
    const quoted = fc.string().map((text) => `"${text.replace(/["\\]/g, "\\$&")}"`);
    fc.assert(
      fc.property(quoted, quoted, (host, by) => {
        const said = `for=203.0.113.7;host=${host}, by=${by};for=10.1.1.1`;
        expect(ipOf({ forwarded: said }, FORWARDED)).toBe("203.0.113.7");
      }),
    );
  });
});

describe("the client's address by other means", () => {
  const CLOUD: IdentityOptions = { ...PROXIES, clientAddress: { header: "CF-Connecting-IP" } };

  it("is the one address in the header that was named, of a trusted peer", () => {
    expect(ipOf({ "cf-connecting-ip": "2001:db8::7" }, CLOUD)).toBe("2001:db8::7");
    expect(ipOf({ "cf-connecting-ip": "2001:db8::7" }, CLOUD, "198.51.100.9")).toBe("198.51.100.9");
  });

  it("is the peer's if that header has several addresses or none", () => {
    expect(ipOf({ "cf-connecting-ip": "203.0.113.7, 203.0.113.8" }, CLOUD)).toBe(peer);
    expect(ipOf({ "cf-connecting-ip": ["203.0.113.7", "203.0.113.8"] }, CLOUD)).toBe(peer);
    expect(ipOf({ "cf-connecting-ip": "not-an-address" }, CLOUD)).toBe(peer);
    expect(ipOf({}, CLOUD)).toBe(peer);
  });

  it.each([
    ["a promise", () => Promise.reject(new Error("late"))],
    ["a number", () => 7],
    ["null", () => null],
  ])("is refused if a function says %s", (_what, clientAddress) => {
    const identity = toIdentity({ clientAddress: clientAddress as never });
    expect(() => identity.read(requestOf({})).ip).toThrow(
      "clientAddress must return a string or undefined, not a promise",
    );
  });

  it("is what a function says of the framework's own request", () => {
    const options: IdentityOptions<{ ip: string }> = { clientAddress: (raw) => raw.ip };
    const request = requestOf({ peer, raw: { ip: "203.0.113.7" } });
    expect(toIdentity(options).read(request).ip).toBe("203.0.113.7");
  });

  it("is found behind a peer without an address only if that is trusted", () => {
    const headers = { "x-forwarded-for": "203.0.113.7" };
    const trusting = { trustedProxies: ["unaddressed"] };
    expect(toIdentity(trusting).read(requestOf({ headers })).ip).toBe("203.0.113.7");
    expect(toIdentity(trusting).read(requestOf({})).ip).toBeUndefined();
    expect(toIdentity(PROXIES).read(requestOf({ headers })).ip).toBeUndefined();
  });
});

describe("a proxy that is not listed", () => {
  const forwarded = { "x-forwarded-for": "203.0.113.7" };

  it.each([
    ["reported once", {}, "10.0.0.1", 1],
    ["expected where an empty list says so", { trustedProxies: [] }, "10.0.0.1", 0],
    ["not seen in a client that writes the header itself", {}, "198.51.100.1", 0],
  ])("is %s", (_what, options, peer, times) => {
    const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    try {
      const identity = toIdentity(options);
      for (let i = 0; i < 3; i++) {
        expect(identity.read(requestOf({ peer, headers: forwarded })).ip).toBe(peer);
      }
      expect(warned).toHaveBeenCalledTimes(times);
    } finally {
      warned.mockRestore();
    }
  });
});

describe("the headers of requests from peers that are not trusted", () => {
  it("are read for the first thousand of them and then ignored", () => {
    let reads = 0;
    const request: HttpRequest = {
      ...requestOf({ peer: "198.51.100.1" }),
      get headers() {
        reads += 1;
        return {};
      },
    };
    const identity = toIdentity({});
    for (let i = 0; i < 3_000; i++) expect(identity.read(request).ip).toBe("198.51.100.1");
    expect(reads).toBe(1_000);
  });
});

describe("trusted proxies", () => {
  it.each([["0.0.0.0/0"], ["::/0"]])("are never every address, as %s would be", (range) => {
    expect(() => toIdentity({ trustedProxies: [range] })).toThrow(
      `trustedProxies: "${range}" lets every client choose its own address`,
    );
  });

  it.each([[["10.0.0.1/8"]], [["unknown"]], ["loopback"], [[7]]])("are refused as %j", (given) => {
    expect(() => toIdentity({ trustedProxies: given as string[] })).toThrow(/trustedProxies/);
  });
});
