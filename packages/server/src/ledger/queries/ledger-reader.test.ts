import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { testDatabases } from "../../../test/control/databases.js";
import {
  AccountBuilder,
  PERIOD_END_MS,
  PERIOD_START_MS,
} from "../../../test/ledger/ledger-builder.js";
import { toExport } from "./entry-export.js";
import { entryPages } from "./entry-pages.js";
import { LedgerReader } from "./ledger-reader.js";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const at = (day: number, hour = 12) => PERIOD_START_MS + (day - 1) * DAY_MS + hour * HOUR_MS;
const ALL = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER };

const all = testDatabases();
afterAll(() => Promise.all(all.map((each) => each.stop())));

describe.each(all)("LedgerReader on $name", (databases) => {
  let reader: LedgerReader;
  beforeAll(async () => {
    const database = await databases.ready();
    reader = new LedgerReader(database);
    const exports = new AccountBuilder();
    exports.use(10, { atMs: at(1) }).use(20, { atMs: at(2) });
    // Reserved before midnight and committed after it.
    const held = exports.reserve(50, { atMs: at(2, 23) });
    exports.settle("commit", held, { units: 50, kept: 30 });
    exports.append("use", 0, { atMs: at(3) });
    exports.grant(500, { atMs: at(3), actor: "ada", details: { expiresAtMs: at(4) } });
    exports.reserve(7, { atMs: at(4, 1) });
    exports.lease(40, { atMs: at(4, 2) });
    const tokens = new AccountBuilder({ meter: "tokens", quota: 100 });
    tokens.use(100, { atMs: at(2) });
    const before = new AccountBuilder({
      startsAtMs: PERIOD_START_MS - 30 * DAY_MS,
      endsAtMs: PERIOD_START_MS,
    });
    before.use(3, { atMs: PERIOD_START_MS - 1 });
    const other = new AccountBuilder({ subject: "tenant:other" }).use(999, { atMs: at(2) });
    for (const account of [exports, tokens, before, other]) await account.write(database);
  });

  it("says how the quotas of a subject stand now, and when they run out", async () => {
    const filter = { subject: "tenant:acme", nowMs: at(4), timeZone: "UTC" };
    const [exports, tokens, ...others] = await reader.quotas(filter);
    expect(others).toEqual([]);
    expect(exports).toMatchObject({
      meter: "exports",
      period: { startMs: PERIOD_START_MS, endMs: PERIOD_END_MS },
      quota: 1_000,
      // The top-up ended at this very moment.
      granted: 1_047,
      used: 60,
      held: { reserved: 7, leased: 40 },
      balance: 940,
    });
    expect(exports.used + 47 + exports.balance).toBe(exports.granted);
    expect(exports.forecast?.unitsPerDay).toBeGreaterThan(10);
    expect(tokens).toMatchObject({ meter: "tokens", balance: 0, used: 100 });
    expect(tokens.forecast?.day).toBe("2026-05-04");
    const early = await reader.quotas({ ...filter, nowMs: at(4) - 1, meter: "exports" });
    expect(early).toMatchObject([{ granted: 1_500, balance: 1_393 }]);
    expect(await reader.quotas({ ...filter, subject: "tenant:none" })).toEqual([]);
  });

  it("adds usage up by meter and day; a settlement counts on the day of its charge", async () => {
    const month = { fromMs: PERIOD_START_MS, toMs: PERIOD_END_MS };
    const filter = { subject: "tenant:acme", timeZone: "UTC", ...month };
    const days = [
      { day: "2026-05-01", units: 10 },
      { day: "2026-05-02", units: 50 },
      { day: "2026-05-04", units: 47 },
    ];
    const exports = { meter: "exports", part: 0, units: 107, days };
    const tokens = {
      meter: "tokens",
      part: 0,
      units: 100,
      days: [{ day: "2026-05-02", units: 100 }],
    };
    expect(await reader.usage(filter)).toEqual([exports, tokens]);
    expect(await reader.usage({ ...filter, meter: "tokens" })).toEqual([tokens]);
    const [inIndia] = await reader.usage({ ...filter, timeZone: "Asia/Kolkata" });
    expect(inIndia.days.map(({ day }) => day)).toEqual([
      "2026-05-01",
      "2026-05-02",
      "2026-05-03",
      "2026-05-04",
    ]);
    const [second] = await reader.usage({ ...filter, fromMs: at(2, 0), toMs: at(3, 0) });
    expect(second).toMatchObject({ units: 50 });
  });

  it("lists entries by time, filtered, and each once whatever the size of a page", async () => {
    const whole = await reader.entries(ALL, { limit: 1_000 });
    expect(whole.map(({ atMs }) => atMs)).toEqual(whole.map(({ atMs }) => atMs).sort());
    expect(await reader.countEntries(ALL)).toBe(whole.length);
    const seen = [];
    for (;;) {
      const page = await reader.entries(ALL, { after: seen.at(-1), limit: 3 });
      seen.push(...page);
      if (page.length < 3) break;
    }
    expect(seen).toEqual(whole);
    const of = async (filter: object) => {
      const entries = await reader.entries({ ...ALL, ...filter }, { limit: 1_000 });
      expect(await reader.countEntries({ ...ALL, ...filter })).toBe(entries.length);
      return entries.map(({ kind, amount }) => `${kind} ${amount}`);
    };
    expect(await of({ subject: "tenant:other" })).toEqual(["grant 1000", "use -999"]);
    expect(await of({ meter: "tokens" })).toEqual(["grant 100", "use -100"]);
    expect(await of({ subject: "tenant:acme", kind: "lease" })).toEqual(["lease -40"]);
    expect(await of({ fromMs: at(3), toMs: at(3) + 1 })).toHaveLength(2);
    expect(await of({ fromMs: at(30) })).toEqual([]);
  });

  it("exports 10,000 entries as CSV and as JSON, all of them and in order", async () => {
    const database = await databases.ready();
    const account = new AccountBuilder({ quota: 100_000 });
    for (let n = 1; n < 10_000; n++) account.append("use", -1);
    await account.write(database);
    const collect = async (format: "csv" | "json") => {
      let text = "";
      let pieces = 0;
      for await (const piece of toExport(entryPages(database, ALL), format)) {
        text += piece;
        pieces++;
      }
      expect(pieces).toBeGreaterThan(10);
      return text;
    };
    const entries = JSON.parse(await collect("json")) as { sequence: number }[];
    const sequences = Array.from({ length: 10_000 }, (_, n) => n + 1);
    expect(entries.map(({ sequence }) => sequence)).toEqual(sequences);
    const lines = (await collect("csv")).trimEnd().split("\r\n");
    expect(lines.slice(1).map((line) => Number(line.split(",")[7]))).toEqual(sequences);
  });
});
