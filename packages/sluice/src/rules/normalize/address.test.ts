import { BlockList, isIP, SocketAddress } from "node:net";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isAddress, toBareAddress, toClientAddress, toSubnet } from "./address.js";

const whole = { ipv6Prefix: 128 };
const group = fc.integer({ min: 0, max: 0xffff });
const hexGroup = group.map((word) => word.toString(16));
const ipv4 = fc.ipV4();
const ipv6 = fc.oneof(
  fc.ipV6(),
  fc
    .array(fc.oneof(hexGroup, fc.constant("0")), { minLength: 8, maxLength: 8 })
    .map((g) => g.join(":")),
  ipv4.map((address) => `::ffff:${address}`),
  ipv4.map((address) => `64:ff9b::${address}`),
);
const address = fc.oneof(ipv4, ipv6);
/** An address with some of its characters changed, doubled or lost. */
const mutated = fc
  .tuple(
    address,
    fc.array(
      fc.tuple(fc.nat(45), fc.constantFrom("", ":", "::", ".", "0", "f", "g", "%", "/", " ")),
      { maxLength: 3 },
    ),
  )
  .map(([text, changes]) =>
    changes.reduce(
      (all, [at, by]) => all.slice(0, at) + by + all.slice(at + (by.length % 2)),
      text,
    ),
  );

describe("an address", () => {
  it("is one exactly if node:net says so", () => {
    fc.assert(
      fc.property(fc.oneof(address, mutated, mutated), (text) => {
        expect(isAddress(text)).toBe(isIP(text) !== 0);
      }),
      { numRuns: 20_000 },
    );
  });

  it.each([
    "",
    "1.2.3",
    "1.2.3.4.5",
    "01.2.3.4",
    "1.2.3.04",
    "256.1.1.1",
    "1.2.3.4 ",
    "0x1.2.3.4",
    "1..2.3",
    ".1.2.3.4",
    "1.2.3.4.",
    "2130706433",
    ":",
    ":::",
    "1::2::3",
    "1:2:3:4:5:6:7",
    "1:2:3:4:5:6:7:8:9",
    "1:2:3:4:5:6:7::8",
    "::12345",
    ":1:2:3:4:5:6:7",
    "1:2:3:4:5:6:7:",
    "::1.2.3",
    "::1.2.3.4:5",
    "1:2:3:4:5:6:7:1.2.3.4",
    "fe80::1%",
    "fe80::1%a b",
    "1.2.3.4%eth0",
    "[::1]",
    "unknown",
    "::ffff:1.2.3.04",
    `::1%${"a".repeat(200)}`,
  ])("is not %j", (text) => {
    expect(isAddress(text)).toBe(false);
    expect(toClientAddress(text, whole)).toBeUndefined();
    expect(toSubnet(text, { ipv4: 24, ipv6: 48 })).toBeUndefined();
  });

  it("is counted alike in every notation", () => {
    const mapped = [
      "203.0.113.10",
      "::ffff:203.0.113.10",
      "::FFFF:cb00:710a",
      "0:0:0:0:0:ffff:203.0.113.10",
      "0000:0000:0000:0000:0000:ffff:cb00:710a",
      "::ffff:cb00:710a%eth0",
    ];
    for (const text of mapped)
      expect(toClientAddress(text, { ipv6Prefix: 64 })).toBe("203.0.113.10");
    const one = [
      "2001:db8:1:2::1",
      "2001:DB8:1:2:0:0:0:1",
      "2001:0db8:0001:0002:ffff::",
      "2001:db8:1:2::%eth0",
      "2001:db8:1:2::1.2.3.4",
    ];
    for (const text of one)
      expect(toClientAddress(text, { ipv6Prefix: 64 })).toBe("2001:db8:1:2::/64");
  });

  it("is counted by as many bits as are asked for", () => {
    const text = "2001:db8:abcd:ef12:3456:789a:bcde:f012";
    expect(toClientAddress(text, { ipv6Prefix: 56 })).toBe("2001:db8:abcd:ef00::/56");
    expect(toClientAddress(text, { ipv6Prefix: 60 })).toBe("2001:db8:abcd:ef10::/60");
    expect(toClientAddress(text, { ipv6Prefix: 1 })).toBe("::/1");
    expect(toClientAddress(text, whole)).toBe(text);
    expect(toSubnet(text, { ipv4: 24, ipv6: 48 })).toBe("2001:db8:abcd::/48");
    expect(toSubnet("203.0.113.77", { ipv4: 24, ipv6: 48 })).toBe("203.0.113.0/24");
    expect(toSubnet("::ffff:203.0.113.77", { ipv4: 30, ipv6: 48 })).toBe("203.0.113.76/30");
    expect(toSubnet("203.0.113.77", { ipv4: 32, ipv6: 48 })).toBe("203.0.113.77/32");
    expect(toSubnet("203.0.113.77", { ipv4: 0, ipv6: 0 })).toBe("0.0.0.0/0");
  });

  it("that NAT64 made stays IPv6", () => {
    expect(toClientAddress("64:ff9b::203.0.113.10", whole)).toBe("64:ff9b::cb00:710a");
    expect(toClientAddress("::203.0.113.10", whole)).toBe("::cb00:710a");
  });

  it("is written as node:net writes it", () => {
    fc.assert(
      fc.property(ipv6, (text) => {
        const counted = toClientAddress(text, whole) as string;
        const other = new SocketAddress({ address: text, family: "ipv6" }).address;
        // Its strings of mapped and compatible addresses end in dots, ours are IPv4 or all hexadecimal.
        if (other.includes(".")) expect(toClientAddress(other, whole)).toBe(counted);
        else expect(counted).toBe(other);
      }),
      { numRuns: 5_000 },
    );
  });

  it("lies in its own subnet, and only one that shares its bits does", () => {
    fc.assert(
      fc.property(ipv6, ipv6, fc.integer({ min: 1, max: 128 }), (a, b, bits) => {
        const prefix = toSubnet(a, { ipv4: 32, ipv6: bits }) as string;
        if (!prefix.includes(":") || toClientAddress(b, whole)?.includes(".")) return;
        const list = new BlockList();
        list.addSubnet(prefix.split("/")[0], bits, "ipv6");
        expect(list.check(a, "ipv6")).toBe(true);
        expect(toSubnet(b, { ipv4: 32, ipv6: bits }) === prefix).toBe(list.check(b, "ipv6"));
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("an address in a header", () => {
  it.each([
    ["203.0.113.7", "203.0.113.7"],
    [" 203.0.113.7 ", "203.0.113.7"],
    ["203.0.113.7:1234", "203.0.113.7"],
    ["203.0.113.7:_hidden", "203.0.113.7"],
    ["[2001:db8::1]", "2001:db8::1"],
    ["[2001:db8::1]:4711", "2001:db8::1"],
    ["[fe80::1%eth0]:80", "fe80::1%eth0"],
    ["2001:db8::1", "2001:db8::1"],
    ["::ffff:203.0.113.7", "::ffff:203.0.113.7"],
    ["203.0.113.7:", undefined],
    ["203.0.113.7:123456", undefined],
    ["203.0.113.7:port", undefined],
    ["[203.0.113.7]", undefined],
    ["[2001:db8::1", undefined],
    ["2001:db8::1]", undefined],
    ["[2001:db8::1]x", undefined],
    ["[2001:db8::1]:", undefined],
    ["[[::1]]", undefined],
    ["unknown", undefined],
    ["_hidden", undefined],
    ["", undefined],
    ["[]", undefined],
    [" ".repeat(100_000), undefined],
  ])("written %j is %j", (text, bare) => {
    expect(toBareAddress(text)).toBe(bare);
  });
});
