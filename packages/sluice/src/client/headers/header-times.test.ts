import { describe, expect, it } from "vitest";
import { HEADER_MS_MAX, parseResetMs, readRetryAfterMs } from "./header-times.js";

const WALL_MS = Date.UTC(2026, 10, 17, 6, 0, 0);
const NOW = "Tue, 17 Nov 2026 06:00:00 GMT";

describe("Retry-After", () => {
  const read = (fields: Record<string, string>) => readRetryAfterMs(new Headers(fields), WALL_MS);

  it.each([
    ["seconds", "20", 20_000],
    ["zero", "0", 0],
    ["fractions of a second, rounded up", "0.0005", 1],
    ["what Shopify sends", "2.0", 2_000],
    ["a date", "Tue, 17 Nov 2026 06:00:30 GMT", 30_000],
    ["a date in the form of RFC 850", "Tuesday, 17-Nov-26 06:00:30 GMT", 30_000],
    ["a date in the form of asctime", "Tue Nov 17 06:00:30 2026", 30_000],
    ["a date in the past", "Tue, 17 Nov 2020 06:00:30 GMT", 0],
    ["years, as an hour at most", "1000000000", HEADER_MS_MAX],
    ["a date in years, as an hour at most", "Tue, 17 Nov 2099 06:00:30 GMT", HEADER_MS_MAX],
  ])("may be %s", (_what, field, ms) => {
    expect(read({ "retry-after": field })).toBe(ms);
  });

  it.each(["", "-1", "NaN", "Infinity", "1e9", "0x10", "soon", "1, 2", "99999999999999999"])(
    "that is %j is ignored",
    (field) => {
      expect(read({ "retry-after": field })).toBeUndefined();
    },
  );

  it("counts a date from the response's own Date, so that a wrong clock on either side does not matter", () => {
    const skewed = {
      date: "Tue, 17 Nov 2026 05:00:00 GMT",
      "retry-after": "Tue, 17 Nov 2026 05:00:30 GMT",
    };
    expect(read(skewed)).toBe(30_000);
    expect(read({ ...skewed, date: "yesterday" })).toBe(0);
  });

  it("in milliseconds is more precise", () => {
    expect(read({ "retry-after": "1", "retry-after-ms": "250" })).toBe(250);
    expect(read({ "retry-after": "1", "retry-after-ms": "-5" })).toBe(1_000);
  });
});

describe("a reset", () => {
  const parse = (field: string, date = NOW) => parseResetMs(field, new Headers({ date }), WALL_MS);

  it.each([
    ["seconds from now", "30", 30_000],
    ["seconds with a fraction", "0.729", 729],
    ["seconds since 1970", `${WALL_MS / 1_000 + 90}`, 90_000],
    ["milliseconds since 1970", `${WALL_MS + 1_500}`, 1_500],
    ["a time in the past", `${WALL_MS / 1_000 - 90}`, 0],
    ["seconds of OpenAI", "1s", 1_000],
    ["minutes of OpenAI", "6m0s", 360_000],
    ["milliseconds of OpenAI", "88ms", 88],
    ["seconds with a fraction of OpenAI", "1.5s", 1_500],
    ["an ISO date", "2026-11-17T06:00:10Z", 10_000],
    ["an HTTP date", "Tue, 17 Nov 2026 06:00:10 GMT", 10_000],
    ["at most an hour", "86400", HEADER_MS_MAX],
  ])("may be %s", (_what, field, ms) => {
    expect(parse(field)).toBe(ms);
  });

  it("since 1970 counts from the response's own Date", () => {
    expect(parse(`${WALL_MS / 1_000 - 3_600 + 20}`, "Tue, 17 Nov 2026 05:00:00 GMT")).toBe(20_000);
  });

  it.each(["", "-5", "NaN", "1d", "5 minutes", "1e3", "6m0"])("that is %j is ignored", (field) => {
    expect(parse(field)).toBeUndefined();
  });
});
