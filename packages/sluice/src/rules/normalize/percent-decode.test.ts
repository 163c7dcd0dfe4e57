import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeOnce, decodeWhole } from "./percent-decode.js";

describe("an escaped text", () => {
  it("is decoded as decodeURIComponent does, and the rest stays as it is", () => {
    const escaped = fc
      .integer({ min: 0, max: 255 })
      .map((byte) => `%${byte.toString(16).padStart(2, "0")}`);
    fc.assert(
      fc.property(fc.array(fc.oneof(escaped, fc.string())), (parts) => {
        const text = parts.join("");
        expect(decodeOnce(text)).toBe(decodeOrLeave(text));
        expect(decodeWhole(text)).toBe(decodeAllOrLeave(text));
      }),
      { numRuns: 5_000 },
    );
    expect(
      decodeOnce(
        "%C0%AF%C1%81%E0%80%AF%F0%80%80%AF%F4%90%80%80%ED%A0%80%F5%80%80%80%e2%82%AC%f0%9f%98%80%",
      ),
    ).toBe("%C0%AF%C1%81%E0%80%AF%F0%80%80%AF%F4%90%80%80%ED%A0%80%F5%80%80%80€😀%");
  });
});

function decodeAllOrLeave(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Piece by piece, each as long as the UTF-8 that starts there. */
function decodeOrLeave(text: string): string {
  let decoded = "";
  for (let i = 0; i < text.length; ) {
    const length = [3, 6, 9, 12].find((each) => decodes(text.slice(i, i + each), each)) ?? 0;
    decoded += length === 0 ? text[i] : decodeURIComponent(text.slice(i, i + length));
    i += Math.max(1, length);
  }
  return decoded;
}

function decodes(text: string, length: number): boolean {
  if (!new RegExp(`^(%[0-9a-f]{2}){${length / 3}}$`, "i").test(text)) return false;
  try {
    return [...decodeURIComponent(text)].length === 1;
  } catch {
    return false;
  }
}
