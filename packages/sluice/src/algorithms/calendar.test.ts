// Two kinds of witness: tables of instants that Python's zoneinfo computed by walking the clock, and
// an oracle that knows no offsets, only what Intl shows on the wall, walked a quarter at a time.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SluiceError } from "../base/errors.js";
import {
  type Calendar,
  type CalendarOptions,
  type CalendarPeriod,
  periodAt,
  toCalendar,
} from "./calendar.js";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const END_MS = Date.UTC(2100, 0, 1);

type Row = [period: CalendarPeriod, anchor: number | string, start: string, end: string];

describe("toCalendar", () => {
  const accepted: [CalendarOptions, Calendar][] = [
    [{ period: "day" }, { period: "day", timeZone: "UTC", anchorDay: 1, anchorMs: 0 }],
    [{ period: "week" }, { period: "week", timeZone: "UTC", anchorDay: 1, anchorMs: 0 }],
    [{ period: "month" }, { period: "month", timeZone: "UTC", anchorDay: 1, anchorMs: 0 }],
    [
      { period: "day", timeZone: "Asia/Kolkata", anchor: 23 },
      { period: "day", timeZone: "Asia/Kolkata", anchorDay: 1, anchorMs: 23 * HOUR_MS },
    ],
    [
      { period: "day", timeZone: "Etc/UTC", anchor: "2024-02-29T09:30" },
      { period: "day", timeZone: "UTC", anchorDay: 1, anchorMs: 9.5 * HOUR_MS },
    ],
    [
      { period: "week", anchor: "2024-12-29T00:00:01" },
      { period: "week", timeZone: "UTC", anchorDay: 7, anchorMs: 1_000 },
    ],
    [
      { period: "week", anchor: "1965-03-01T23:59:59" },
      { period: "week", timeZone: "UTC", anchorDay: 1, anchorMs: DAY_MS - 1_000 },
    ],
    [
      { period: "month", anchor: "2024-01-31" },
      { period: "month", timeZone: "UTC", anchorDay: 31, anchorMs: 0 },
    ],
  ];
  it.each(accepted)("reads %j", (options, calendar) => {
    expect(toCalendar(options)).toEqual(calendar);
  });

  const monthForms =
    'a day of the month from 1 to 31 or a local date like "2024-01-31T09:30", got ';
  const refused: [unknown, string][] = [
    [{ period: "year" }, 'quota.period must be "day", "week" or "month", got "year"'],
    [{}, 'quota.period must be "day", "week" or "month", got undefined'],
    [{ period: "toString" }, 'quota.period must be "day", "week" or "month", got "toString"'],
    ...["Mars/Olympus", "", "+05:30", "-03", " UTC", "UTC ", 5, null, ["UTC"]].map(
      (timeZone): [unknown, string] => [
        { period: "day", timeZone },
        `quota.timeZone must be an IANA time zone, got ${JSON.stringify(timeZone)}`,
      ],
    ),
    ...[0, 32, 1.5, -1, null, true, [1], {}].map((anchor): [unknown, string] => [
      { period: "month", anchor },
      monthForms + JSON.stringify(anchor),
    ]),
    [{ period: "month", anchor: Number.NaN }, `${monthForms}NaN`],
    [{ period: "month", anchor: Number.POSITIVE_INFINITY }, `${monthForms}Infinity`],
    [{ period: "week", anchor: 0 }, "an ISO weekday from 1 to 7 or"],
    [{ period: "week", anchor: 8 }, "got 8"],
    [{ period: "day", anchor: 24 }, "an hour from 0 to 23 or"],
    [{ period: "day", anchor: -1 }, "got -1"],
  ];
  it.each(refused)("refuses %j and says what it saw", (options, message) => {
    expect(() => toCalendar(options as CalendarOptions)).toThrow(SluiceError);
    expect(() => toCalendar(options as CalendarOptions)).toThrow(message);
  });

  const impossible = ["2023-02-29", "2024-02-30", "2024-04-31", "2024-13-01", "2024-00-10"];
  const outOfDay = ["2024-01-31T24:00", "2024-01-31T09:60", "2024-01-31T09:30:60"];
  const zoned = ["2024-01-31Z", "2024-01-31T09:30Z", "2024-01-31T09:30+02:00"];
  const otherForms = ["2024-1-31", "2024-01-31 09:30", "2024-01-31T09", "20240131", "31", ""];
  const trailing = ["2024-01-31\n", "2024-01-31T09:30:00.5", "+002024-01-31"];
  const anchors = [...impossible, ...outOfDay, ...zoned, ...otherForms, ...trailing];
  const periods = ["day", "week", "month"] as const;
  it.each(anchors)("refuses the anchor %j for every period", (anchor) => {
    for (const period of periods) {
      expect(() => toCalendar({ period, anchor })).toThrow(`got ${JSON.stringify(anchor)}`);
    }
  });

  it("still answers when more zones are in use than formatters are kept", () => {
    const calendars = Intl.supportedValuesOf("timeZone").map((timeZone) =>
      toCalendar({ period: "day", timeZone }),
    );
    const startsMs = calendars.map((calendar) => periodAt(calendar, 1e12).startMs);
    expect(calendars.length).toBeGreaterThan(300);
    expect(calendars.map((calendar) => periodAt(calendar, 1e12).startMs)).toEqual(startsMs);
  });
});

describe("periodAt in zones that change their clocks", () => {
  const zones: Record<string, Row[]> = {
    // Midnight was skipped: 00:00 became 01:00.
    "America/Sao_Paulo": [
      ["day", 0, "2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z"],
      ["day", 0, "2018-02-17T02:00:00Z", "2018-02-18T03:00:00Z"],
      ["week", 7, "2018-11-04T03:00:00Z", "2018-11-11T02:00:00Z"],
      ["month", 4, "2018-11-04T03:00:00Z", "2018-12-04T02:00:00Z"],
    ],
    "Asia/Beirut": [["day", 0, "2022-03-26T22:00:00Z", "2022-03-27T21:00:00Z"]],
    "Africa/Cairo": [
      ["day", 0, "2023-04-27T22:00:00Z", "2023-04-28T21:00:00Z"],
      ["day", 0, "2023-10-25T21:00:00Z", "2023-10-26T22:00:00Z"],
    ],
    // Midnight came twice: 01:00 became 00:00. The first one counts.
    "America/Havana": [
      ["day", 0, "2023-11-05T04:00:00Z", "2023-11-06T05:00:00Z"],
      ["day", 0, "2023-03-12T05:00:00Z", "2023-03-13T04:00:00Z"],
    ],
    // 00:01 became 23:01 of the day before, which had ended a minute earlier and stays ended.
    "America/St_Johns": [
      ["day", 0, "2010-11-06T02:30:00Z", "2010-11-07T02:30:00Z"],
      ["day", 0, "2010-11-07T02:30:00Z", "2010-11-08T03:30:00Z"],
    ],
    // 30 December 2011 did not happen.
    "Pacific/Apia": [
      ["day", 0, "2011-12-29T10:00:00Z", "2011-12-30T10:00:00Z"],
      ["day", 0, "2011-12-30T10:00:00Z", "2011-12-31T10:00:00Z"],
      ["day", "2011-12-30T09:30", "2011-12-30T10:00:00Z", "2011-12-30T19:30:00Z"],
    ],
    // 31 December 1994 did not happen.
    "Pacific/Kiritimati": [["month", 31, "1994-12-31T10:00:00Z", "1995-01-30T10:00:00Z"]],
    "Asia/Kolkata": [["day", 0, "2024-02-28T18:30:00Z", "2024-02-29T18:30:00Z"]],
    "Asia/Kathmandu": [["day", 0, "2024-02-28T18:15:00Z", "2024-02-29T18:15:00Z"]],
    // Half an hour of daylight saving: 02:00 became 02:30, and 02:00 became 01:30.
    "Australia/Lord_Howe": [
      ["day", 0, "2024-04-06T13:00:00Z", "2024-04-07T13:30:00Z"],
      ["day", "2024-04-07T01:45", "2024-04-06T14:45:00Z", "2024-04-07T15:15:00Z"],
      ["day", "2024-10-06T02:15", "2024-10-04T15:45:00Z", "2024-10-05T15:30:00Z"],
      ["day", "2024-10-06T02:15", "2024-10-05T15:30:00Z", "2024-10-06T15:15:00Z"],
    ],
    // 44 minutes and 30 seconds behind UTC until 1972.
    "Africa/Monrovia": [
      ["month", 1, "1970-01-01T00:44:30Z", "1970-02-01T00:44:30Z"],
      ["day", 0, "1972-01-06T00:44:30Z", "1972-01-07T00:44:30Z"],
      ["day", 0, "1972-01-07T00:44:30Z", "1972-01-08T00:00:00Z"],
    ],
    "America/New_York": [
      ["day", "2024-01-01T02:30", "2024-03-10T07:00:00Z", "2024-03-11T06:30:00Z"],
      ["day", "2024-01-01T01:30", "2024-11-03T05:30:00Z", "2024-11-04T06:30:00Z"],
    ],
    "Europe/Paris": [
      ["month", "2024-01-31T02:30", "2024-03-31T01:00:00Z", "2024-04-30T00:30:00Z"],
      ["month", 27, "2024-10-26T22:00:00Z", "2024-11-26T23:00:00Z"],
    ],
    "Asia/Tokyo": [["week", 1, "2020-12-27T15:00:00Z", "2021-01-03T15:00:00Z"]],
  };
  const rows = Object.entries(zones).flatMap(([zone, list]) =>
    list.map((row): [string, ...Row] => [zone, ...row]),
  );
  it.each(rows)("%s, %s from %s: %s to %s", (timeZone, period, anchor, start, end) => {
    expectPeriod({ timeZone, period, anchor }, start, end);
  });

  it("skips the index of the day that Apia skipped, and of no other", () => {
    const calendar = toCalendar({ period: "day", timeZone: "Pacific/Apia" });
    const noonMs = Date.parse("2011-12-28T22:00:00Z");
    const indexes = [0, 1, 2, 3].map((days) => periodAt(calendar, noonMs + days * DAY_MS).index);
    expect(indexes.map((index) => index - indexes[0])).toEqual([0, 1, 3, 4]);
    const before = periodAt(calendar, noonMs + DAY_MS);
    expect(periodAt(calendar, before.endMs)).toMatchObject({
      index: before.index + 2,
      startMs: before.endMs,
    });
  });
});

describe("periodAt in UTC", () => {
  const monthStarts: [anchor: number, starts: string[]][] = [
    [29, ["2023-01-29", "2023-02-28", "2023-03-29", "2023-04-29"]],
    [30, ["2023-01-30", "2023-02-28", "2023-03-30", "2023-04-30"]],
    [31, ["2023-01-31", "2023-02-28", "2023-03-31", "2023-04-30", "2023-05-31", "2023-06-30"]],
    [29, ["2024-01-29", "2024-02-29", "2024-03-29", "2024-04-29"]],
    [30, ["2024-01-30", "2024-02-29", "2024-03-30", "2024-04-30"]],
    [31, ["2023-12-31", "2024-01-31", "2024-02-29", "2024-03-31", "2024-04-30", "2024-05-31"]],
    [31, ["2000-01-31", "2000-02-29", "2000-03-31"]],
    [15, ["2023-11-15", "2023-12-15", "2024-01-15"]],
    [1, ["2023-12-01", "2024-01-01", "2024-02-01", "2024-03-01"]],
  ];
  it.each(monthStarts)("begins months anchored on the %d. on %j", (anchor, starts) => {
    for (let n = 0; n + 1 < starts.length; n++) {
      expectPeriod({ period: "month", anchor }, starts[n], starts[n + 1]);
    }
  });

  const rows: Row[] = [
    ["month", "2024-01-31T09:30", "2023-02-28T09:30Z", "2023-03-31T09:30Z"],
    ["month", "2024-01-31T23:59:59", "2024-12-31T23:59:59Z", "2025-01-31T23:59:59Z"],
    // Weeks cross the ends of years whole.
    ["week", 1, "2024-12-30", "2025-01-06"],
    ["week", 7, "2023-12-31", "2024-01-07"],
    ["week", "2024-01-03T12:00", "2026-12-30T12:00Z", "2027-01-06T12:00Z"],
    ["week", 4, "2020-02-27", "2020-03-05"],
    ["day", 0, "2023-12-31", "2024-01-01"],
    ["day", 6, "2024-02-29T06:00Z", "2024-03-01T06:00Z"],
    ["day", "1999-12-31T23:59:59", "2024-12-31T23:59:59Z", "2025-01-01T23:59:59Z"],
    ["day", 0, "2099-12-31", "2100-01-01"],
  ];
  it.each(rows)("%s from %s: %s to %s", (period, anchor, start, end) => {
    expectPeriod({ period, anchor }, start, end);
  });

  it("agrees with a zone that goes through Intl and never leaves UTC", () => {
    const utc = toCalendar({ period: "week", anchor: "2024-01-05T10:11:12" });
    const intl = { ...utc, timeZone: "Etc/Greenwich" };
    for (let nowMs = 0; nowMs <= END_MS; nowMs += 97 * DAY_MS + 12_345) {
      expect(periodAt(intl, nowMs)).toEqual(periodAt(utc, nowMs));
    }
  });

  it("takes a fraction of a millisecond as part of the period it lies in", () => {
    for (const timeZone of ["UTC", "Europe/Paris"]) {
      const calendar = toCalendar({ period: "month", timeZone });
      const { endMs } = periodAt(calendar, 1e12);
      expect(periodAt(calendar, endMs - 0.25).endMs).toBe(endMs);
      expect(periodAt(calendar, endMs + 0.25).startMs).toBe(endMs);
    }
  });
});

describe("index", () => {
  it("is a whole number from 0 to below 2^16 at both ends of time, west and east", () => {
    const anchors = { day: [0, 23], week: [1, 2, 3, 4, 5, 6, 7], month: [1, 30, 31] };
    for (const timeZone of ["UTC", "Etc/GMT+12", "Etc/GMT-14"]) {
      for (const period of ["day", "week", "month"] as const) {
        for (const anchor of [...anchors[period], "1970-12-31T23:59:59"]) {
          const calendar = toCalendar({ period, timeZone, anchor });
          expect(periodAt(calendar, 0).index).toBeGreaterThanOrEqual(0);
          expect(periodAt(calendar, END_MS).index).toBeLessThan(2 ** 16);
        }
      }
    }
  });

  it("rises by one from period to period", () => {
    const calendar = toCalendar({ period: "month", timeZone: "Europe/Berlin", anchor: 31 });
    let period = periodAt(calendar, 0);
    for (let n = 0; n < 1_500; n++) {
      const next = periodAt(calendar, period.endMs);
      expect(next).toMatchObject({ index: period.index + 1, startMs: period.endMs });
      period = next;
    }
  });
});

describe("any zone, anchor and instant", () => {
  // Instants at which a clock changed in an unusual way, to look around.
  const changes: [timeZone: string, at: string][] = [
    ["America/Sao_Paulo", "2018-11-04T03:00Z"],
    ["America/Havana", "2023-11-05T05:00Z"],
    ["America/St_Johns", "2010-11-07T02:31Z"],
    ["America/St_Johns", "1988-10-30T01:31Z"],
    ["America/Goose_Bay", "1987-04-05T04:01Z"],
    ["America/New_York", "2024-11-03T06:00Z"],
    ["America/Caracas", "2016-05-01T07:00Z"],
    ["Africa/Cairo", "2023-04-27T22:00Z"],
    ["Africa/Casablanca", "2024-03-10T02:00Z"],
    ["Africa/Monrovia", "1972-01-07T00:44:30Z"],
    ["Antarctica/Casey", "2010-03-04T15:00Z"],
    ["Antarctica/Troll", "2024-03-31T01:00Z"],
    ["Asia/Beirut", "2022-03-26T22:00Z"],
    ["Asia/Gaza", "2023-04-28T22:00Z"],
    ["Asia/Kathmandu", "1985-12-31T18:30Z"],
    ["Asia/Pyongyang", "2018-05-04T15:00Z"],
    ["Asia/Tehran", "2022-03-21T20:30Z"],
    ["Australia/Lord_Howe", "2024-04-06T15:00Z"],
    ["Europe/Dublin", "2024-10-27T01:00Z"],
    ["Europe/Volgograd", "2018-10-27T23:00Z"],
    ["Pacific/Apia", "2011-12-30T10:00Z"],
    ["Pacific/Chatham", "2024-09-28T14:00Z"],
    ["Pacific/Kiritimati", "1994-12-31T10:00Z"],
    ["Pacific/Kwajalein", "1993-08-21T12:00Z"],
  ];
  const second = { min: 0, max: 366 * 24 * 60 * 60 - 1 };
  const anywhere = fc.record({
    timeZone: fc.constantFrom(...Intl.supportedValuesOf("timeZone")),
    nowMs: fc.integer({ min: 0, max: END_MS }),
    anchor: fc.integer(second).map((seconds) => toAnchor(Date.UTC(2024, 0, 1) + seconds * 1_000)),
  });
  // Boundaries beside the change: up to an hour and a half from what the wall showed just before.
  const nearChange = fc
    .record({
      change: fc.constantFrom(...changes),
      nowShiftMs: fc.integer({ min: -2 * DAY_MS, max: 2 * DAY_MS }),
      anchorShiftMs: fc.oneof(
        fc.constantFrom(0, 1_000, -HOUR_MS / 2, HOUR_MS / 2, -HOUR_MS, HOUR_MS),
        fc.integer({ min: -5_400, max: 5_400 }).map((seconds) => seconds * 1_000),
      ),
    })
    .map(({ change: [timeZone, at], nowShiftMs, anchorShiftMs }) => {
      const shown = wallClock(timeZone)(Date.parse(at) - 1_000).replace(" ", "T");
      const anchor = toAnchor(Date.parse(`${shown}Z`) + 1_000 + anchorShiftMs);
      return { timeZone, nowMs: Date.parse(at) + nowShiftMs, anchor };
    });
  const place = fc.oneof({ weight: 3, arbitrary: nearChange }, { weight: 1, arbitrary: anywhere });
  const period = fc.constantFrom<CalendarPeriod>("day", "week", "month");

  it("lies in the period that the wall clock shows, and periods tile time", () => {
    fc.assert(
      fc.property(place, period, ({ timeZone, nowMs, anchor }, period) => {
        const calendar = toCalendar({ period, timeZone, anchor });
        const found = periodAt(calendar, nowMs);
        const next = periodAt(calendar, found.endMs);
        const last = periodAt(calendar, found.startMs - 1);
        expect(found).toMatchObject(readPeriod({ period, timeZone, anchor }, nowMs));
        expect(found.startMs <= nowMs && nowMs < found.endMs).toBe(true);
        expect([last.endMs, next.startMs]).toEqual([found.startMs, found.endMs]);
        expect(last.index < found.index && found.index < next.index).toBe(true);
      }),
      { seed: 20240131, numRuns: 4_000 },
    );
  });
});

function toAnchor(localMs: number): string {
  return new Date(localMs).toISOString().slice(0, 19);
}

function expectPeriod(options: CalendarOptions, start: string, end: string): void {
  const calendar = toCalendar(options);
  const [startMs, endMs] = [Date.parse(start), Date.parse(end)];
  for (const nowMs of [startMs, startMs + 1, (startMs + endMs) / 2, endMs - 1]) {
    expect(periodAt(calendar, nowMs)).toMatchObject({ startMs, endMs });
  }
  expect(periodAt(calendar, startMs - 1).endMs).toBe(startMs);
  expect(periodAt(calendar, endMs).startMs).toBe(endMs);
}

// The oracle. Wall times are strings like "2024-01-31 09:30:00", which sort as time does.

function readPeriod(options: Required<CalendarOptions>, nowMs: number): object {
  const wall = wallClock(options.timeZone);
  const walked = { day: 3, week: 9, month: 33 }[options.period];
  const startsMs: number[] = [];
  for (let days = -walked; days <= walked; days++) {
    const date = new Date(nowMs + days * DAY_MS).toISOString().slice(0, 10);
    if (isBoundary(options, date)) startsMs.push(walkTo(wall, date, `${options.anchor}`.slice(11)));
  }
  const startMs = Math.max(...startsMs.filter((ms) => ms <= nowMs));
  return { startMs, endMs: Math.min(...startsMs.filter((ms) => ms > nowMs)) };
}

function isBoundary({ period, anchor }: Required<CalendarOptions>, date: string): boolean {
  const [day, wanted] = [new Date(date), new Date(`${anchor}`.slice(0, 10))];
  if (period === "day") return true;
  if (period === "week") return day.getUTCDay() === wanted.getUTCDay();
  const endsMonth = new Date(day.getTime() + DAY_MS).getUTCDate() === 1;
  const tooEarly = day.getUTCDate() < wanted.getUTCDate();
  return day.getUTCDate() === wanted.getUTCDate() || (endsMonth && tooEarly);
}

/** Walks in quarters from where no zone has arrived yet, then closes in on the millisecond. */
function walkTo(wall: (atMs: number) => string, date: string, time: string): number {
  const boundary = `${date} ${time}`;
  // In step with the boundary: most offsets are whole quarters, so even a minute's visit is met.
  let highMs = Date.parse(`${date}T${time}Z`) - 15 * HOUR_MS;
  while (wall(highMs) < boundary) highMs += 15 * MINUTE_MS;
  let lowMs = highMs - 15 * MINUTE_MS;
  while (highMs - lowMs > 1) {
    const middleMs = Math.floor((lowMs + highMs) / 2);
    if (wall(middleMs) < boundary) lowMs = middleMs;
    else highMs = middleMs;
  }
  return highMs;
}

const wallClocks = new Map<string, Intl.DateTimeFormat>();

function wallClock(timeZone: string): (atMs: number) => string {
  // The Swedish form is the ISO one.
  const format =
    wallClocks.get(timeZone) ??
    new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short", timeStyle: "medium" });
  wallClocks.set(timeZone, format);
  return (atMs) => format.format(atMs);
}
