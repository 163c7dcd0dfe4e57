import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  BARS,
  DEFAULTS,
  HOLD_NAMES,
  KEYINGS,
  lengthOf,
  RANGES,
  RETRIES,
  SHAPES,
  WINDOW_NAMES,
} from "./settings.js";
import { fromQuery, LOG_CHARS_MAX, toQuery } from "./view-url.js";

const ranges = Object.fromEntries(
  Object.entries(RANGES).map(([name, range]) => [name, fc.integer(range)]),
) as { [name in keyof typeof RANGES]: fc.Arbitrary<number> };

const settings = fc.record({
  ...ranges,
  shape: fc.constantFrom(...SHAPES),
  windowMs: fc.constantFrom(...WINDOW_NAMES.map(lengthOf)),
  holdMs: fc.constantFrom(...HOLD_NAMES.map(lengthOf)),
  keying: fc.constantFrom(...KEYINGS),
  retry: fc.constantFrom(...RETRIES),
  bars: fc.array(fc.integer({ min: 0, max: 35 }), { minLength: BARS, maxLength: BARS }),
});
const times = fc.array(
  fc.record({
    atMs: fc.integer({ min: 0, max: 4e12 }),
    client: fc.integer({ min: 0, max: 1_000 }),
  }),
  { maxLength: 60 },
);

describe("the URL of a view", () => {
  it("reproduces it: settings, drawn bars, a pasted log, the time under the cursor", () => {
    const at = fc.option(fc.integer({ min: 0, max: 1_000 }), { nil: undefined });
    fc.assert(
      fc.property(settings, times, at, (chosen, log, cursor) => {
        const sorted = log.toSorted((a, b) => a.atMs - b.atMs);
        const again = fromQuery(toQuery({ settings: chosen, log: sorted, at: cursor }));
        const bars = chosen.shape === "drawn" ? chosen.bars : DEFAULTS.bars;
        expect(again.settings).toEqual({ ...chosen, bars });
        expect(again.log).toEqual(chosen.shape === "log" ? sorted : []);
        expect(again.at).toBe(cursor);
      }),
    );
  });

  it("is empty for the first view", () => {
    expect(toQuery({ settings: DEFAULTS, log: [], at: undefined })).toBe("");
    expect(fromQuery("").settings).toEqual(DEFAULTS);
  });

  it("leaves a log out that would make it too long", () => {
    const log = Array.from({ length: LOG_CHARS_MAX }, (_, at) => ({ atMs: 1e12 + at, client: 0 }));
    expect(toQuery({ settings: { ...DEFAULTS, shape: "log" }, log, at: undefined })).toBe(
      "shape=log",
    );
  });

  it("takes anything, and reads what it can't use as the default", () => {
    fc.assert(
      fc.property(fc.webQueryParameters(), (query) => {
        expect(() => fromQuery(query)).not.toThrow();
      }),
    );
    const { settings: read, log } = fromQuery(
      "?limit=-4&window=3y&shape=%3Cscript%3E&load=9999&bars=zz&log=m.zzzzzzzzzzzz",
    );
    expect(read).toEqual({ ...DEFAULTS, loadPercent: 400 });
    expect(log).toEqual([]);
  });
});
