import { describe, expect, it } from "vitest";
import { parseRules } from "../parse.js";

const DAY_MS = 86_400_000;

function escalateOf(escalate: unknown, rule: object = {}) {
  const rules = [{ id: "login", key: "ip", limit: "10/minute", escalate, ...rule }];
  return parseRules({ version: 1, rules }).rules[0].escalate;
}

describe("escalate", () => {
  it.each([
    ["a phrase", "20 refusals in 1m"],
    ["an object", { refusals: 20, in: "1m" }],
    ["an object with milliseconds", { refusals: 20, in: 60_000 }],
  ])("takes %s", (_, after) => {
    expect(escalateOf({ after, blocks: ["1m", "10m", "1h", "1d"], forget: "2d" })).toEqual({
      refusals: 20,
      windowMs: 60_000,
      blocksMs: [60_000, 600_000, 3_600_000, DAY_MS],
      forgetMs: 2 * DAY_MS,
    });
  });

  it("is forgotten after a day unless it says otherwise, and absent means no escalation", () => {
    expect(escalateOf({ after: "1 refusal in 1s", blocks: ["1s"] })?.forgetMs).toBe(DAY_MS);
    expect(escalateOf(undefined)).toBeUndefined();
  });

  it.each<[string, object, object, string]>([
    [
      "another phrase",
      { after: "20 in 1m", blocks: ["1m"] },
      {},
      'escalate.after must be a phrase such as "20 refusals in 1m"',
    ],
    [
      "a window of more than a day",
      { after: "20 refusals in 2d", blocks: ["1m"] },
      {},
      "in 1s to 1d",
    ],
    ["no refusals", { after: "0 refusals in 1m", blocks: ["1m"] }, {}, "of 1 to 1000000 refusals"],
    ["no blocks", { after: "2 refusals in 1m", blocks: [] }, {}, "escalate.blocks"],
    ["a missing list of blocks", { after: "2 refusals in 1m" }, {}, "escalate.blocks"],
    [
      "blocks that become shorter",
      { after: "2 refusals in 1m", blocks: ["2m", "1m"] },
      {},
      "escalate.blocks[1] is shorter than the block before it",
    ],
    [
      "an unknown field",
      { after: "2 refusals in 1m", blocks: ["1m"], forgt: "1d" },
      {},
      "did you mean forget?",
    ],
    [
      "a rule for everybody",
      { after: "2 refusals in 1m", blocks: ["1m"] },
      { key: "global" },
      "escalate would block all callers, because the rule counts by global",
    ],
    [
      "a rule with shards",
      { after: "2 refusals in 1m", blocks: ["1m"] },
      { key: "tenant", shards: 2 },
      "escalate can't be used with shards",
    ],
    [
      "a durable rule",
      { after: "2 refusals in 1m", blocks: ["1m"] },
      { key: "tenant", durable: true, limit: { quota: { limit: 5, period: "day" } } },
      "escalate can't be used on a durable rule",
    ],
  ])("refuses %s", (_, escalate, rule, message) => {
    expect(() => escalateOf(escalate, rule)).toThrow(message);
  });
});
