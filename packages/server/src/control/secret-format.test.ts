import { webcrypto } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hashSecret, isSameHash, makeSecret, readSecret } from "./secret-format.js";

const random = (bytes: Uint8Array) => {
  webcrypto.getRandomValues(bytes);
};

describe("a secret", () => {
  it("is recognisable, read back by its id and hash, and never equal to another", () => {
    const made = Array.from({ length: 1_000 }, () => makeSecret("apiKey", random));
    for (const { id, secret, hash } of made) {
      expect(secret).toMatch(/^slk_[0-9A-Za-z]{12}_[0-9A-Za-z]{32}_[0-9A-Za-z]{6}$/);
      expect(readSecret("apiKey", secret)).toEqual({ id, hash });
      expect(hash).toBe(hashSecret(secret));
      expect(hash).not.toContain(id);
    }
    expect(new Set(made.map(({ id }) => id)).size).toBe(1_000);
  });

  it("with one letter changed, left out, doubled or swapped with its neighbour is not read", () => {
    const letter = fc.constantFrom(..."0123456789ABCXYZabcxyz_-é ");
    const { secret } = makeSecret("apiKey", random);
    fc.assert(
      fc.property(fc.nat(secret.length - 1), letter, (at, other) => {
        const variants = [
          secret.slice(0, at) + other + secret.slice(at + 1),
          secret.slice(0, at) + secret.slice(at + 1),
          secret.slice(0, at) + secret[at] + secret.slice(at),
          secret.slice(0, at) + (secret[at + 1] ?? "") + secret[at] + secret.slice(at + 2),
        ];
        for (const variant of variants) {
          if (variant !== secret) expect(readSecret("apiKey", variant)).toBeUndefined();
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it("of one use is not read as one of another", () => {
    const { secret } = makeSecret("accessToken", random);
    expect(secret).toMatch(/^slt_/);
    expect(readSecret("apiKey", secret)).toBeUndefined();
    expect(readSecret("accessToken", secret)).toBeDefined();
  });

  it("draws every letter alike", () => {
    const counts = new Map<string, number>();
    for (let i = 0; i < 2_000; i++) {
      for (const letter of makeSecret("apiKey", random).secret.split("_")[2] ?? "") {
        counts.set(letter, (counts.get(letter) ?? 0) + 1);
      }
    }
    expect(counts.size).toBe(62);
    const expected = (2_000 * 32) / 62;
    for (const count of counts.values())
      expect(Math.abs(count - expected)).toBeLessThan(expected / 4);
  });

  it.each(["", "slk_", "slk__", "x".repeat(100_000), "slk_____", "\u0000"])("is not %j", (text) => {
    expect(readSecret("apiKey", text)).toBeUndefined();
  });
});

it("hashes are compared whole", () => {
  expect(isSameHash(hashSecret("a"), hashSecret("a"))).toBe(true);
  expect(isSameHash(hashSecret("a"), hashSecret("b"))).toBe(false);
  expect(isSameHash(hashSecret("a"), "")).toBe(false);
});
