// What a tenant has used of a quota in the period, day by day, against what it may use, and where that leads.

import { useEffect, useMemo } from "preact/hooks";
import type { ReplyOf } from "sluice-server/api";
import { useAnswer } from "../../api/use-answer.js";
import { wallMs } from "../../base/clock.js";
import { Chart } from "../../ui/charts/chart.js";
import { formatShort } from "../../ui/formats/format.js";
import { Loaded } from "../../ui/page/states.js";
import { toBurnDown } from "./burn-down-data.js";

/** How one quota stands. */
export type Quota = ReplyOf<"quotas">["items"][number];

interface BurnDownProps {
  readonly tenant: string;
  readonly timeZone: string;
  readonly quota: Quota;
  readonly changeCount: number;
}

const SERIES = [
  { name: "Used", colour: "--accent", isFilled: true },
  { name: "Forecast", colour: "--delayed" },
  { name: "Granted", colour: "--refused" },
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
  const data = useMemo(() => {
    const { period, granted, forecast } = quota;
    const unitsPerDay = forecast?.unitsPerDay ?? 0;
    return toBurnDown({ days, period, granted, unitsPerDay, timeZone, nowMs: wallMs() });
  }, [days, quota, timeZone]);
  // A quota of one day has nothing to draw by days.
  if ((data[0]?.length ?? 0) < 2) return null;
  return (
    <Chart
      label={`Used of ${quota.meter} by day in ${timeZone}, against the units granted`}
      series={SERIES}
      data={data}
      format={formatShort}
    />
  );
}
