import { expect, it } from "vitest";
import { formatDuration } from "./durations.js";

it.each([
  [0, "0 ms"],
  [999, "999 ms"],
  [1_000, "1 second"],
  [1_001, "1.1 seconds"],
  [48_000, "48 seconds"],
  [59_001, "1 minute"],
  [60_001, "1 minute 1 second"],
  [120_000, "2 minutes"],
  [3_600_000, "1 hour"],
  [3_600_001, "1 hour 1 minute"],
  [86_399_999, "1 day"],
  [90_000_000, "1 day 1 hour"],
  [2_505_600_000, "29 days"],
  [2_521_870_000, "29 days 5 hours"],
  [Number.POSITIVE_INFINITY, "never"],
])("never says less than there is: %d ms is %s", (ms, words) =>
  expect(formatDuration(ms)).toBe(words),
);
