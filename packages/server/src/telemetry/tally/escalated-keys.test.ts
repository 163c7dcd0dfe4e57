import { describe, expect, it } from "vitest";
import { ESCALATED_KEYS_MAX, EscalatedKeys, mergeEscalated } from "./escalated-keys.js";

function stand() {
  let nowMs = 0;
  const keys = new EscalatedKeys(
    () => nowMs,
    (key) => `hash of ${key}`,
  );
  const block = (key: string, level: number, blockMs: number) =>
    keys.add({ rule: "login", key, level, blockMs });
  const moveTo = (ms: number) => {
    nowMs = ms;
  };
  return { keys, block, moveTo };
}

describe("keys that escalations blocked", () => {
  it("are listed until their blocks run out, the latest first, with the latest level", () => {
    const { keys, block, moveTo } = stand();
    block("ip:a", 1, 1_000);
    block("ip:b", 1, 60_000);
    moveTo(999);
    expect(keys.list().map(({ key, blockedMs }) => [key, blockedMs])).toEqual([
      ["ip:b", 59_001],
      ["ip:a", 1],
    ]);
    moveTo(1_000);
    expect(keys.list().map(({ key }) => key)).toEqual(["ip:b"]);
    block("ip:a", 2, 600_000);
    expect(keys.list()[0]).toEqual({
      ...{ rule: "login", key: "ip:a", keyHash: "hash of ip:a", level: 2 },
      ...{ ageMs: 0, blockedMs: 600_000 },
    });
    keys.remove(["login"]);
    expect(keys.list()).toEqual([]);
  });

  it("are bounded: those that were blocked first are forgotten", () => {
    const { keys, block } = stand();
    for (let i = 0; i < ESCALATED_KEYS_MAX + 2; i++) block(`ip:${i}`, 1, 1_000);
    expect(keys.list()).toHaveLength(ESCALATED_KEYS_MAX);
    expect(keys.list().at(-1)?.key).toBe("ip:2");
  });

  it("of several processes are listed once each, as the latest of them knows", () => {
    const [a, b] = [stand(), stand()];
    a.block("ip:a", 1, 60_000);
    for (const each of [a, b]) each.moveTo(5_000);
    b.block("ip:a", 2, 600_000);
    b.block("ip:b", 1, 60_000);
    const merged = mergeEscalated([a.keys.list(), b.keys.list()]);
    expect(merged.map(({ key, level }) => [key, level])).toEqual([
      ["ip:b", 1],
      ["ip:a", 2],
    ]);
  });
});
