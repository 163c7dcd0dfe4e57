// The lines of a burn-down: what was used up to now, where that leads, and what may be used.

/** What the lines are made of. */
export interface BurnDownInput {
  /** What was used on each day of the tenant. */
  readonly days: readonly { readonly day: string; readonly units: number }[];
  readonly period: { readonly startMs: number; readonly endMs: number };
  readonly granted: number;
  /** Units that are expected to be used in 24 hours. */
  readonly unitsPerDay: number;
  /** In which the days begin. */
  readonly timeZone: string;
  readonly nowMs: number;
}

const DAY_MS = 86_400_000;
/** A longer period is drawn up to this day. */
const DAYS_MAX = 400;

/** Times in Unix seconds, and the lines: used up to now, the forecast from now on, and what may be used throughout. */
export function toBurnDown(input: BurnDownInput): (number | null)[][] {
  const { startMs, endMs } = input.period;
  const count = Math.min(DAYS_MAX, Math.round((endMs - startMs) / DAY_MS));
  const starts = Array.from({ length: count }, (_, at) => startMs + at * DAY_MS);
  const used = toUsed(starts, input);
  const { nowMs, unitsPerDay, granted } = input;
  const total = used.at(-1) ?? 0;
  return [
    starts.map((atMs) => atMs / 1_000),
    starts.map((atMs, at) => (atMs <= nowMs ? (used[at] ?? 0) : null)),
    starts.map((atMs) =>
      atMs + DAY_MS > nowMs ? total + (unitsPerDay * Math.max(0, atMs - nowMs)) / DAY_MS : null,
    ),
    starts.map(() => granted),
  ];
}

/** What was used up to the end of each day. */
function toUsed(starts: readonly number[], { days, timeZone }: BurnDownInput): number[] {
  const dayOf = new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short" });
  const unitsOf = new Map(days.map(({ day, units }) => [day, units]));
  let total = 0;
  return starts.map((startMs) => {
    // Noon: a day of 23 or 25 hours shifts the hour at which later days begin here.
    total += unitsOf.get(dayOf.format(startMs + DAY_MS / 2)) ?? 0;
    return total;
  });
}
