// A quota in another calendar than its own: that of a tenant.

import { toCalendar } from "../algorithms/calendar.js";
import { made, type QuotaLimit } from "./limits.js";

/**
 * A quota with the time zone and the anchor that it does not have of its own; the quota itself if they make no
 * difference.
 *
 * @throws SluiceError `SLUICE_LIMIT_INVALID` if there is no such time zone, or if it is not an anchor of the period.
 */
export function quotaInCalendar(
  limit: QuotaLimit,
  {
    timeZone,
    anchor,
  }: { readonly timeZone?: string | undefined; readonly anchor?: number | string | undefined },
): QuotaLimit {
  const { calendar, ownTimeZone, ownAnchor, period } = limit;
  const given = toCalendar({
    period,
    ...(timeZone === undefined || ownTimeZone ? {} : { timeZone }),
    ...(anchor === undefined || ownAnchor ? {} : { anchor }),
  });
  const { anchorDay, anchorMs } = ownAnchor ? calendar : given;
  const zone = ownTimeZone ? calendar.timeZone : given.timeZone;
  const isSame =
    zone === calendar.timeZone &&
    anchorDay === calendar.anchorDay &&
    anchorMs === calendar.anchorMs;
  if (isSame) return limit;
  return made({
    ...limit,
    calendar: Object.freeze({ period, timeZone: zone, anchorDay, anchorMs }),
  });
}
