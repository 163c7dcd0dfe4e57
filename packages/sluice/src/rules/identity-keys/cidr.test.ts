import { BlockList, isIPv4 } from "node:net";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { toSubnet } from "../normalize/address.js";
import { toCidrList } from "./cidr.js";

const ipv4 = fc.oneof(
  fc.ipV4(),
  fc.nat(255).map((n) => `10.0.0.${n}`),
);
const ipv6 = fc.oneof(
  fc.ipV6(),
  fc.nat(255).map((n) => `2001:db8::${n.toString(16)}`),
);
const range = fc.oneof(
  fc
    .tuple(ipv4, fc.integer({ min: 0, max: 32 }))
    .map(([a, bits]) => toSubnet(a, { ipv4: bits, ipv6: 0 })),
  fc
    .tuple(ipv6, fc.integer({ min: 97, max: 128 }))
    .map(([a, bits]) => toSubnet(a, { ipv4: 32, ipv6: bits })),
) as fc.Arbitrary<string>;

describe("a list of ranges", () => {
  it("has what node:net's BlockList has", () => {
    fc.assert(
      fc.property(
        fc.array(range, { maxLength: 30 }),
        fc.array(fc.oneof(ipv4, ipv6)),
        (ranges, asked) => {
          const list = toCidrList(ranges);
          const other = new BlockList();
          for (const each of ranges) {
            const [address, bits] = each.split("/");
            other.addSubnet(address, Number(bits), isIPv4(address) ? "ipv4" : "ipv6");
          }
          for (const each of asked) {
            expect(list.has(each)).toBe(other.check(each, isIPv4(each) ? "ipv4" : "ipv6"));
          }
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it("has the first and the last address of a range and not their neighbours", () => {
    const list = toCidrList(["203.0.113.64/26", "2001:db8:0:8::/61", "198.51.100.7"]);
    for (const inside of [
      "203.0.113.64",
      "203.0.113.127",
      "2001:db8:0:8::",
      "2001:db8:0:f:ffff:ffff:ffff:ffff",
      "198.51.100.7",
    ]) {
      expect(list.has(inside)).toBe(true);
    }
    for (const outside of [
      "203.0.113.63",
      "203.0.113.128",
      "2001:db8:0:7:ffff:ffff:ffff:ffff",
      "2001:db8:0:10::",
      "198.51.100.8",
      "198.51.100.6",
    ]) {
      expect(list.has(outside)).toBe(false);
    }
  });

  it("takes mapped addresses for the IPv4 that they are, on both sides", () => {
    const list = toCidrList(["10.0.0.0/8", "::ffff:192.0.2.0/120"]);
    for (const inside of ["::ffff:10.1.2.3", "::ffff:a01:203", "192.0.2.255", "::ffff:192.0.2.1"]) {
      expect(list.has(inside)).toBe(true);
    }
    expect(list.has("::10.1.2.3")).toBe(false);
    expect(toCidrList(["::/0"]).has("10.1.2.3")).toBe(false);
    expect(toCidrList(["::/0"]).has("::ffff:10.1.2.3")).toBe(false);
    expect(toCidrList(["0.0.0.0/0"]).has("::1")).toBe(false);
  });

  it("knows loopback and private by name, and no carrier's NAT among them", () => {
    const loopback = toCidrList(["loopback"]);
    expect(
      ["127.0.0.1", "127.255.0.1", "::1", "::ffff:127.0.0.1"].every((a) => loopback.has(a)),
    ).toBe(true);
    expect(["10.0.0.1", "::2", "128.0.0.1"].some((a) => loopback.has(a))).toBe(false);
    const local = toCidrList(["private"]);
    const inside = [
      "10.9.9.9",
      "172.16.0.1",
      "172.31.255.255",
      "192.168.1.1",
      "169.254.1.1",
      "fd00::1",
      "fe80::1%eth0",
    ];
    expect(inside.filter((a) => !local.has(a))).toEqual([]);
    const outside = [
      "172.32.0.1",
      "100.64.0.1",
      "192.169.0.1",
      "127.0.0.1",
      "2001:db8::1",
      "fec0::1",
    ];
    expect(outside.filter((a) => local.has(a))).toEqual([]);
  });

  it("is empty without ranges, and has nothing that is not an address", () => {
    expect(toCidrList([]).has("10.0.0.1")).toBe(false);
    const all = toCidrList(["0.0.0.0/0", "::/0"]);
    for (const text of ["", "x", "10.0.0", "10.0.0.1/32", "[::1]", "010.0.0.1"])
      expect(all.has(text)).toBe(false);
  });

  it("says what was meant where bits stand behind the prefix", () => {
    expect(() => toCidrList(["10.1.2.3/8"])).toThrow(
      'address ranges: "10.1.2.3/8" has bits behind its prefix: 10.0.0.0/8 or 10.1.2.3 was meant',
    );
    expect(() => toCidrList(["2001:db8::1/64"])).toThrow("2001:db8::/64 or 2001:db8::1 was meant");
    expect(() => toCidrList(["::ffff:10.1.2.3/104"])).toThrow(
      "10.0.0.0/8 or ::ffff:10.1.2.3 was meant",
    );
  });

  it.each([
    "",
    "10.0.0.0/33",
    "10.0.0.0/",
    "10.0.0.0/08",
    "10.0.0.0/-1",
    "10.0.0.0/8/8",
    "::/129",
    "::ffff:0:0/95",
    "fe80::%eth0/64",
    "example.com",
    "10.0.0",
    42,
    null,
    {},
  ])("refuses %j", (range) => {
    expect(() => toCidrList([range as string])).toThrow("needs ranges such as 10.0.0.0/8");
  });

  it("looks at a few of 10,000 ranges", () => {
    const ranges = Array.from(
      { length: 10_000 },
      (_, i) => `${10 + (i >> 12)}.${(i >> 4) & 0xff}.${(i & 15) << 4}.0/25`,
    );
    const list = toCidrList(ranges);
    // Processor time: what other programs take does not count.
    const start = process.cpuUsage();
    let found = 0;
    for (let i = 0; i < 20_000; i++) if (list.has(`10.${i & 0xff}.16.1`)) found++;
    expect(found).toBe(20_000);
    expect(process.cpuUsage(start).user / 1_000).toBeLessThan(1_000);
  });
});

describe("a list of many ranges", () => {
  it("has what node:net's BlockList has, though it is divided", () => {
    const wide = fc.array(range, { minLength: 64, maxLength: 120 });
    fc.assert(
      fc.property(wide, fc.array(fc.oneof(ipv4, ipv6), { minLength: 20 }), (ranges, asked) => {
        const list = toCidrList(ranges);
        const other = new BlockList();
        for (const each of ranges) {
          const [address, bits] = each.split("/");
          other.addSubnet(address, Number(bits), isIPv4(address) ? "ipv4" : "ipv6");
        }
        const edges = ranges.map((each) => each.split("/")[0]);
        for (const each of [...asked, ...edges]) {
          expect(list.has(each)).toBe(other.check(each, isIPv4(each) ? "ipv4" : "ipv6"));
        }
      }),
      { numRuns: 50 },
    );
  });

  it("has the addresses of nested and neighbouring ranges of every length under one prefix, and no others", () => {
    // Close together, so that ranges share the bits by which they are divided and compared, and differ after those.
    const address = fc
      .tuple(fc.nat(1), fc.nat(1), fc.nat(3))
      .map(([a, b, c]) => `2001:db8:0:${a}:0:${b}:0:${c}`);
    const close = fc
      .tuple(address, fc.integer({ min: 40, max: 128 }))
      .map(([a, bits]) => toSubnet(a, { ipv4: 32, ipv6: bits }) as string);
    // Makes the list long enough to be divided.
    const apart = Array.from(
      { length: 64 },
      (_, i) => `3${(16 * i).toString(16).padStart(3, "0")}::/16`,
    );
    fc.assert(
      fc.property(fc.array(close, { maxLength: 40 }), fc.array(address), (ranges, asked) => {
        const list = toCidrList([...apart, ...ranges]);
        const other = new BlockList();
        for (const each of ranges) {
          const [first, bits] = each.split("/");
          other.addSubnet(first, Number(bits), "ipv6");
        }
        for (const each of asked) expect(list.has(each)).toBe(other.check(each, "ipv6"));
      }),
      { numRuns: 200 },
    );
  });

  it("has the last address of each family", () => {
    const many = Array.from({ length: 100 }, (_, i) => `255.${2 * i}.0.0/16`);
    const list = toCidrList([...many, "255.255.255.255", "ffff::/16", "::"]);
    expect(
      ["255.255.255.255", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "::"].every((a) =>
        list.has(a),
      ),
    ).toBe(true);
    expect(["255.255.255.254", "fffe::", "::1", "0.0.0.0"].some((a) => list.has(a))).toBe(false);
  });
});
