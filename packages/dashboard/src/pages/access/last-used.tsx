// When a key was last used. Only the hour is kept, so no more is said.

import { formatAbsolute } from "../../ui/formats/format.js";
import { Time, useNow } from "../../ui/formats/time.js";

const HOUR_MS = 3_600_000;

/** `in the last hour`, `3 hours ago`, `not yet`. @param hourMs - The beginning of the hour; null if it was not used. */
export function LastUsed({ hourMs }: { readonly hourMs: number | null }) {
  const nowMs = useNow();
  if (hourMs === null) return <span>not yet</span>;
  // By the end of the hour: it may have been any moment of it.
  if (nowMs - hourMs < 2 * HOUR_MS)
    return (
      <time dateTime={new Date(hourMs).toISOString()} title={`after ${formatAbsolute(hourMs)}`}>
        {nowMs - hourMs < HOUR_MS ? "in the last hour" : "in the last 2 hours"}
      </time>
    );
  return <Time atMs={hourMs + HOUR_MS} />;
}
