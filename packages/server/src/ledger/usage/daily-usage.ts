// Usage by day: what an account's entries add up to on each day of its time zone.

import { dayAt } from "./local-days.js";

/** The part of an entry that usage is read from. */
export interface UsageEntry {
  readonly accountId: string;
  readonly sequence: number;
  readonly kind: string;
  /** What it adds to the balance: a use is negative. */
  readonly amount: number;
  /** The sequence number of the entry that it settles. */
  readonly settles: number | undefined;
  readonly atMs: number;
}

/** The units that were used on a day. */
export interface DailyUsage {
  /** `2026-05-31`, in the account's time zone. */
  readonly day: string;
  readonly units: number;
}

/** The span that usage is shown for where none is asked for: 31 days, so that every month fits. */
export const USAGE_SPAN_MS = 31 * 86_400_000;

const CHARGES: ReadonlySet<string> = new Set(["use", "reserve", "lease"]);
const SETTLEMENTS: ReadonlySet<string> = new Set(["commit", "cancel", "return"]);

/**
 * The usage of each day that has some, the earliest first. What a commit, cancel, expiry or return adds or refunds
 * counts on the day of the entry that it settles, so that a reservation over midnight makes no day negative; if that
 * entry is not in the list, on its own day. Grants, adjustments and the expiry of a grant are not usage.
 *
 * @param entries - Of one or several accounts, in any order.
 * @throws RangeError for a time zone that does not exist.
 */
export function usageByDay(entries: readonly UsageEntry[], timeZone: string): DailyUsage[] {
  const chargedAtMs = new Map(
    entries.filter(({ kind }) => CHARGES.has(kind)).map((each) => [nameOf(each), each.atMs]),
  );
  const units = new Map<string, number>();
  for (const entry of entries) {
    if (!isUsage(entry)) continue;
    const { accountId, settles, atMs } = entry;
    const charged = settles === undefined ? undefined : { accountId, sequence: settles };
    const countedAtMs = (charged && chargedAtMs.get(nameOf(charged))) ?? atMs;
    const day = dayAt(timeZone, countedAtMs);
    units.set(day, (units.get(day) ?? 0) - entry.amount);
  }
  return [...units]
    .filter(([, used]) => used !== 0)
    .map(([day, used]) => ({ day, units: used }))
    .sort((a, b) => (a.day < b.day ? -1 : 1));
}

/** The expiry of a reservation refunds units; that of a grant takes what is left of it. */
function isUsage({ kind, amount }: UsageEntry): boolean {
  return CHARGES.has(kind) || SETTLEMENTS.has(kind) || (kind === "expire" && amount > 0);
}

function nameOf({ accountId, sequence }: Pick<UsageEntry, "accountId" | "sequence">): string {
  return `${sequence} ${accountId}`;
}
