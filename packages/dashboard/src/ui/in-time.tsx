// How long something still takes or lasts: as a duration, with the time when it is over as its title.

import { wallMs } from "../base/clock.js";
import { formatAbsolute, formatDuration } from "./format.js";

/** `40 s`, with the absolute time as its title; `never` for null. */
export function InTime({ ms }: { readonly ms: number | null }) {
  if (ms === null) return <span>never</span>;
  return <time title={formatAbsolute(wallMs() + ms)}>{formatDuration(ms)}</time>;
}
