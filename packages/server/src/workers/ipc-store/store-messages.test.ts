// What goes over the wire comes out the same, even values that JSON can't represent.

import { type Counter, type CounterStatus, fixedWindow, quota, type Verdict } from "sluice";
import { expect, it } from "vitest";
import {
  decodeAnswers,
  decodeCalls,
  encodeAnswers,
  encodeCalls,
  fromWireMs,
  fromWireStatus,
  fromWireVerdict,
  toWireStatus,
  toWireVerdict,
  type WireVerdict,
} from "./store-messages.js";

const verdict: Verdict = {
  allowed: false,
  limit: 10,
  remaining: 0,
  retryAfterMs: Number.POSITIVE_INFINITY,
  resetMs: 86_400_000,
  delayMs: 0,
  source: "store",
};

it("verdicts and statuses keep their numbers, a wait without end too", () => {
  const status: CounterStatus = { ...verdict, used: 10.000000000000002 };
  const line = encodeAnswers([[1, [toWireVerdict(verdict), toWireStatus(status)]]]);
  const [[, [first, second]]] = decodeAnswers(line) as [[number, [WireVerdict, WireVerdict]]];
  expect(fromWireVerdict(first)).toEqual(verdict);
  expect(fromWireStatus(second)).toEqual(status);
});

it.each([1_000, Number.POSITIVE_INFINITY])("verdicts and statuses keep a block of %d ms", (ms) => {
  const blocked: Verdict = { ...verdict, blockedMs: ms };
  const status: CounterStatus = { ...blocked, used: 3 };
  const line = encodeAnswers([[1, [toWireVerdict(blocked), toWireStatus(status)]]]);
  const [[, [first, second]]] = decodeAnswers(line) as [[number, [WireVerdict, WireVerdict]]];
  expect(fromWireVerdict(first)).toEqual(blocked);
  expect(fromWireStatus(second)).toEqual(status);
});

it("calls keep keys in any script, halves of a pair included, and a block without end", () => {
  const key = 'a"\n\\ é 漢字 😀 \ud800';
  const line = encodeCalls({
    isRestart: true,
    counters: [],
    calls: [
      [1, ["decide", [[7, key, 2, 3, "caller"]], 2]],
      [2, ["block", "scope", key, Number.POSITIVE_INFINITY]],
    ],
  });
  expect(line).not.toContain("\n");
  const { isRestart, calls } = decodeCalls(line);
  expect(isRestart).toBe(true);
  expect(calls[0][1]).toEqual(["decide", [[7, key, 2, 3, "caller"]], 2]);
  expect(calls[1][1].slice(0, 3)).toEqual(["block", "scope", key]);
  expect(fromWireMs(calls[1][1][3] as number | null)).toBe(Number.POSITIVE_INFINITY);
});

it("counters keep all that they say", () => {
  const counters: [number, Counter][] = [
    [1, { scope: "a", part: 0, limit: fixedWindow({ limit: 5, windowMs: 1_000 }) }],
    [2, { scope: "b", part: 1, limit: quota({ limit: 5, period: "month" }), timeoutMs: 15 }],
  ];
  expect(decodeCalls(encodeCalls({ isRestart: false, counters, calls: [] }))).toEqual({
    isRestart: false,
    counters,
    calls: [],
  });
});
