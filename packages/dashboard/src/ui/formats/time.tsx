// Times and durations: relative as text, absolute when pointed at.

import { useEffect, useState } from "preact/hooks";
import { every, wallMs } from "../../base/clock.js";
import { formatAbsolute, formatDuration, formatRelative } from "./format.js";

const REFRESH_MS = 10_000;

/** The time of the browser, refreshed every ten seconds. */
export function useNow(everyMs = REFRESH_MS): number {
  const [nowMs, setNowMs] = useState(wallMs);
  useEffect(() => {
    return every(everyMs, () => setNowMs(wallMs()));
  }, [everyMs]);
  return nowMs;
}

/** `3 minutes ago`, with the absolute time as its title. */
export function Time({ atMs }: { readonly atMs: number }) {
  const nowMs = useNow();
  return (
    <time dateTime={new Date(atMs).toISOString()} title={formatAbsolute(atMs)}>
      {formatRelative(atMs, nowMs)}
    </time>
  );
}

/** How long something still takes or lasts: `40 s`, with the time when it is over as its title; `never` for null. */
export function InTime({ ms }: { readonly ms: number | null }) {
  if (ms === null) return <span>never</span>;
  return <time title={formatAbsolute(wallMs() + ms)}>{formatDuration(ms)}</time>;
}
