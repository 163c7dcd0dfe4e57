// The bound on holds: a caller that holds many loses its own, never those of others.

import { describe, expect, it } from "vitest";
import { HOLDS_MAX, type OpenHold, OpenHolds } from "./open-holds.js";

const CALLER = 0;
const OTHER = 1;

function standOf() {
  let ids = 0;
  let nowMs = 0;
  const holds = new OpenHolds({ nowMs: () => nowMs, newId: () => `${ids++}` });
  const advance = (ms: number) => {
    nowMs += ms;
  };
  return { holds, advance };
}

function permitOf(token: number): OpenHold {
  return { token, kind: "permit", release: () => {} };
}

describe("open holds", () => {
  it("of a caller that makes ever more of them replace its own oldest, and none of another's", () => {
    const { holds } = standOf();
    const theirs = permitOf(OTHER);
    const id = holds.add(theirs, 60_000);
    const first = holds.add(permitOf(CALLER), 60_000);
    for (let i = 0; i < HOLDS_MAX + 1_000; i++) holds.add(permitOf(CALLER), 60_000);
    expect(holds.size).toBe(HOLDS_MAX);
    expect(holds.take(id, "permit")).toBe(theirs);
    expect(() => holds.take(first, "permit")).toThrow(/no permit/);
  });

  it("that have expired make room first, those of another caller too", () => {
    const { holds, advance } = standOf();
    for (let i = 0; i < HOLDS_MAX - 1; i++) holds.add(permitOf(OTHER), 1_000);
    const id = holds.add(permitOf(CALLER), 60_000);
    advance(1_000);
    holds.add(permitOf(CALLER), 60_000);
    expect(holds.size).toBe(2);
    expect(holds.take(id, "permit").token).toBe(CALLER);
  });
});
