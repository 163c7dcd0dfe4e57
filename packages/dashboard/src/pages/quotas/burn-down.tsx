// What a tenant has used of a quota in the period, day by day, against what it may use, and where that leads.

import { useEffect, useMemo } from "preact/hooks";
import type { ReplyOf } from "sluice-server/api";
import { useAnswer } from "../../api/use-answer.js";
import { wallMs } from "../../base/clock.js";
import { Chart } from "../../ui/chart.js";
import { formatShort } from "../../ui/format.js";
import { Loaded } from "../../ui/states.js";
import type { Quota } from "./tenant-quotas.js";

interface BurnDownProps {
  readonly tenant: string;
  readonly timeZone: string;
  readonly quota: Quota;
  readonly changeCount: number;
}

const SERIES = [
  { name: "Used", colour: "--accent", isFilled: true },
  { name: "Forecast", colour: "--delayed" },
  { name: "May use", colour: "--refused" },
];

/** The chart of a quota. */
export function BurnDown({ tenant, timeZone, quota, changeCount }: BurnDownProps) {
  const { meter, period } = quota;
  const query = { tenant, meter, from: period.startMs };
  const answer = useAnswer("usage", "/v1/usage", { query });
  useEffect(() => {
    if (changeCount > 0) void answer.reload();
  }, [changeCount]);
  return (
    <Loaded answer={answer} lines={9}>
      {({ items }) => {
        const days = items.find((item) => item.meter === meter && item.part === quota.part)?.days;
        return <BurnDownChart days={days ?? []} quota={quota} timeZone={timeZone} />;
      }}
    </Loaded>
  );
}

type Days = ReplyOf<"usage">["items"][number]["days"];

interface BurnDownChartProps {
  readonly days: Days;
  readonly quota: Quota;
  readonly timeZone: string;
}

function BurnDownChart({ days, quota, timeZone }: BurnDownChartProps) {
  const data = useMemo(() => toData(days, quota, wallMs()), [days, quota]);
  return (
    <Chart
      label={`Used of ${quota.meter} by day in ${timeZone}, against what may be used`}
      series={SERIES}
      data={data}
      format={formatShort}
    />
  );
}

const DAY_MS = 86_400_000;
/** A longer period is drawn up to this day. */
const DAYS_MAX = 400;

/** Times and lines: used up to now, the forecast from now on, and what may be used throughout. */
export function toData(days: Days, quota: Quota, nowMs: number): (number | null)[][] {
  const { startMs, endMs } = quota.period;
  const perDay = quota.forecast?.unitsPerDay ?? 0;
  const times: number[] = [];
  const used: (number | null)[] = [];
  const forecast: (number | null)[] = [];
  const unitsOf = new Map(days.map(({ day, units }) => [day, units]));
  let total = 0;
  const count = Math.min(DAYS_MAX, Math.ceil((endMs - startMs) / DAY_MS));
  for (let at = 0; at < count; at++) {
    const atMs = startMs + at * DAY_MS;
    // Noon of the day: the start of a period is midnight of the tenant, which may be the day before in UTC.
    const day = new Date(atMs + DAY_MS / 2).toISOString().slice(0, 10);
    total += unitsOf.get(day) ?? 0;
    const isPast = atMs <= nowMs;
    times.push(atMs / 1_000);
    used.push(isPast ? total : null);
    const isAhead = atMs + DAY_MS > nowMs;
    forecast.push(isAhead ? total + (perDay * Math.max(0, atMs - nowMs)) / DAY_MS : null);
  }
  return [times, used, forecast, times.map(() => quota.granted)];
}
