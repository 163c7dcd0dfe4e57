import { parseRules } from "sluice/rules";
import { describe, expect, it, vi } from "vitest";
import { preview } from "./preview.js";

// Sources have no thread, which only a build has.
const { readInThread } = vi.hoisted(() => ({ readInThread: vi.fn() }));
vi.mock("../rules/thread-reader.js", () => ({
  isForThread: (text: string) => text.length >= 16_384,
  readInThread,
}));

const limit = "5/minute";
const toText = (count: number) =>
  JSON.stringify({
    version: 1,
    rules: Array.from({ length: count }, (_, i) => ({ id: `rule-${i}`, key: "ip", limit })),
  });

describe("a draft without rules in force as they were written", () => {
  const input = { inForce: parseRules(toText(1)), samples: [], fromMs: 0, toMs: 1 };

  it("is read in the thread if it is long", async () => {
    const text = toText(500);
    const rules = parseRules(text);
    readInThread.mockResolvedValueOnce({ version: rules.version, rules });
    expect((await preview({ ...input, text })).version).toBe(rules.version);
    expect(readInThread.mock.calls).toMatchObject([[{ text, returnsRules: true }]]);
  });

  it("fails with what the thread found, and is not read again", async () => {
    const text = `${toText(500)} `;
    readInThread.mockRejectedValueOnce(new Error("over 60 seconds"));
    await expect(preview({ ...input, text })).rejects.toThrow("over 60 seconds");
  });
});
