import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Facts } from "../../facts.js";
import { toCidrList } from "../../identity-keys/cidr.js";
import { type BlockedCallers, callerBlocks } from "./caller-blocks.js";

const request = { method: "GET", path: "/" };
const reason = "abuse";

function find(blocks: readonly BlockedCallers[], facts: Partial<Facts>, wallMs = 0) {
  return callerBlocks(blocks).find({ ...request, ...facts }, wallMs);
}

describe("callerBlocks", () => {
  it("finds addresses in any notation, by themselves and in ranges", () => {
    const blocks = [
      { subject: ["ip:203.0.113.0/24", "ip:2001:db8::/32", "ip:198.51.100.7"], reason },
    ];
    //  address                        blocked
    const steps: [string, boolean][] = [
      ["203.0.113.0", true],
      ["203.0.113.255", true],
      ["::ffff:203.0.113.9", true],
      ["203.0.114.0", false],
      ["198.51.100.7", true],
      ["198.51.100.8", false],
      ["2001:db8::1", true],
      ["2001:DB8:ffff::1%eth0", true],
      ["2001:db9::", false],
      ["not an address", false],
    ];
    for (const [ip, isBlocked] of steps) {
      expect([ip, find(blocks, { ip }) !== undefined]).toEqual([ip, isBlocked]);
    }
    expect(find(blocks, { ip: "203.0.113.9" })).toEqual({
      subject: "ip:203.0.113.0/24",
      reason,
      untilMs: Number.POSITIVE_INFINITY,
    });
  });

  it("finds mapped ranges as the IPv4 ranges that they are, and no IPv4 address in ::/0", () => {
    expect(
      find([{ subject: "ip:::ffff:203.0.113.0/120", reason }], { ip: "203.0.113.9" }),
    ).toBeDefined();
    expect(find([{ subject: "ip:::/0", reason }], { ip: "203.0.113.9" })).toBeUndefined();
    expect(find([{ subject: "ip:::/0", reason }], { ip: "2001:db8::1" })).toBeDefined();
    expect(find([{ subject: "ip:private", reason }], { ip: "10.1.2.3" })).toBeDefined();
  });

  it("blocks an address until the last block of a range around it ends", () => {
    const blocks = [
      { subject: "ip:10.0.0.0/8", reason: "wide", endsAtMs: 300 },
      { subject: "ip:10.1.0.0/16", reason: "narrow", endsAtMs: 100 },
      { subject: "ip:10.1.0.0/16", reason: "narrow again", endsAtMs: 200 },
      { subject: "ip:10.1.2.3", reason: "single", endsAtMs: 400 },
    ];
    //  atMs  of 10.1.2.3  of 10.1.9.9
    const steps = [
      [99, "single", "wide"],
      [299, "single", "wide"],
      [300, "single", undefined],
      [400, undefined, undefined],
    ] as const;
    for (const [atMs, single, other] of steps) {
      expect(find(blocks, { ip: "10.1.2.3" }, atMs)?.reason).toBe(single);
      expect(find(blocks, { ip: "10.1.9.9" }, atMs)?.reason).toBe(other);
    }
  });

  it("finds users, tenants and API keys, and then needs the identity", () => {
    const blocks = [
      { subject: "user:42", reason: "a", endsAtMs: 10 },
      { subject: "tenant: Acme:Inc ", reason: "b" },
      { subject: "apiKey:k1", reason: "c" },
    ];
    expect(callerBlocks(blocks).needsIdentity).toBe(true);
    expect(callerBlocks([{ subject: "ip:10.0.0.1", reason }]).needsIdentity).toBe(false);
    expect(callerBlocks([]).needsIdentity).toBe(false);
    expect(find(blocks, { user: "42" }, 9)?.reason).toBe("a");
    expect(find(blocks, { user: "42" }, 10)).toBeUndefined();
    expect(find(blocks, { user: "42", tenant: "Acme:Inc" }, 10)?.reason).toBe("b");
    expect(find(blocks, { apiKey: "k1", user: "42" }, 9)?.reason).toBe("c");
    expect(find(blocks, { user: "43" })).toBeUndefined();
  });

  it("says which block can't be used and what was seen", () => {
    //  block                                             message
    const steps: [unknown, string][] = [
      [
        { subject: "usr:42", reason },
        'blocks[0].subject must be ip:, user:, tenant: or apiKey: and a value, got "usr:42"',
      ],
      [{ subject: "user:", reason }, 'and a value, got "user:"'],
      [{ subject: 42, reason }, "subject must be"],
      [{ reason }, "subject must be"],
      [
        { subject: "ip:10.0.0.1/8", reason },
        '"10.0.0.1/8" has bits behind its prefix: 10.0.0.0/8 or 10.0.0.1 was meant',
      ],
      [{ subject: "ip:10.0.0.0/33", reason }, 'got "10.0.0.0/33"'],
      [{ subject: "user:42" }, "blocks[0].reason must be a string, got undefined"],
      [
        { subject: "user:42", reason, endsAtMs: "soon" },
        'blocks[0].endsAtMs must be milliseconds since 1970, got "soon"',
      ],
    ];
    for (const [block, message] of steps) {
      expect(() => callerBlocks([block as BlockedCallers])).toThrow(message);
    }
  });

  it("finds what a scan of all ranges would find", () => {
    const byte = fc.constantFrom<number>(0, 1, 127, 128, 255);
    const address4 = fc.tuple(byte, byte, byte, byte);
    const address6 = fc
      .tuple(byte, byte)
      .map(([a, b]) => `2001:db8:${a.toString(16)}:${b.toString(16)}::1`);
    const range4 = fc.tuple(address4, fc.integer({ min: 0, max: 32 })).map(([bytes, bits]) => {
      const number = bytes.reduce((total, each) => total * 256 + each, 0);
      const network = Math.floor(number / 2 ** (32 - bits)) * 2 ** (32 - bits);
      return `${[24, 16, 8, 0].map((shift) => Math.floor(network / 2 ** shift) % 256).join(".")}/${bits}`;
    });
    const range6 = fc
      .tuple(byte, fc.constantFrom(32, 40, 48))
      .map(([a, bits]) => (bits === 48 ? `2001:db8:${a.toString(16)}::/48` : `2001:db8::/${bits}`));
    const ranges = fc.array(fc.tuple(fc.oneof(range4, range6), fc.integer({ min: 1, max: 9 })), {
      maxLength: 30,
    });
    const addresses = fc.oneof(
      address4.map((bytes) => bytes.join(".")),
      address6,
    );
    fc.assert(
      fc.property(ranges, addresses, fc.integer({ min: 0, max: 9 }), (list, ip, wallMs) => {
        const around = list.filter(
          ([range, endsAtMs]) => endsAtMs > wallMs && toCidrList([range]).has(ip),
        );
        const untilMs =
          around.length === 0 ? undefined : Math.max(...around.map(([, endsAtMs]) => endsAtMs));
        const blocks = list.map(([range, endsAtMs]) => ({
          subject: `ip:${range}`,
          reason,
          endsAtMs,
        }));
        expect(find(blocks, { ip }, wallMs)?.untilMs).toBe(untilMs);
      }),
      { numRuns: 500 },
    );
  });
});
