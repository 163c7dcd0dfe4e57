// Quotas by the calendars of tenants: a quota of a rule that counts by tenant begins when the tenant's day, week or month
// begins, in its time zone and by its billing anchor, unless the limit says its own. Each calendar is a variant of the
// limit, made when a tenant first needs it.

import type { Limit, QuotaLimit } from "../../../limits/limits.js";
import { quotaInCalendar } from "../../../limits/quota-in-calendar.js";
import type { NormalizedRequest } from "../../match/normalized-request.js";
import { unescapeValue } from "../../normalize/escape.js";
import { toValue } from "../../normalize/normalize-string.js";
import { allLimitsOf, type Rule } from "../../rule.js";
import type { FindTenant, TenantProfile } from "../../tenant-profile.js";
import { type LimitsContext, NO_COUNTERS, type RuleLimit, toRuleLimits } from "./rule-limits.js";

/** The most variants of the limits of a rule. Beyond it all are forgotten, and made again as they are needed. */
const VARIANTS_MAX = 10_000;

/** Variants by time zone, then by anchor: finding one builds no string. */
type Variants = Map<string | undefined, Map<string | number | undefined, readonly RuleLimit[]>>;

/** The calendars of the tenants of one rule. */
export class TenantCalendars {
  readonly #context: LimitsContext;
  readonly #find: FindTenant;
  readonly #byLimits = new Map<readonly RuleLimit[], Variants>();
  #size = 0;

  /** Undefined for rules that don't count by tenant, and those whose limits all say their own calendar. */
  static of(context: LimitsContext, find: FindTenant): TenantCalendars | undefined {
    return followsTenants(context.rule) ? new TenantCalendars(context, find) : undefined;
  }

  private constructor(context: LimitsContext, find: FindTenant) {
    this.#context = context;
    this.#find = find;
  }

  /** The limits as they hold for the tenant of a request. */
  limitsOf(
    limits: readonly RuleLimit[],
    normalized: NormalizedRequest,
    key: string,
  ): readonly RuleLimit[] {
    const tenant = toValue(normalized.facts.tenant);
    return tenant === undefined || this.#isByAddress(key)
      ? limits
      : this.#inCalendar(limits, this.#find(tenant));
  }

  /** The same for a key as it is counted, of which the tenant is a part. */
  limitsOfKey(limits: readonly RuleLimit[], key: string): readonly RuleLimit[] {
    const part = key.split("|").find((each) => each.startsWith(TENANT));
    if (part === undefined) return limits;
    return this.#inCalendar(limits, this.#find(unescapeValue(part.slice(TENANT.length))));
  }

  /** A request without a value for another part of the key is counted by its address, which tenants may share. */
  #isByAddress(key: string): boolean {
    return this.#context.rule.key.length > 1 && !key.includes(TENANT);
  }

  #inCalendar(
    limits: readonly RuleLimit[],
    profile: TenantProfile | undefined,
  ): readonly RuleLimit[] {
    const { timeZone, billingAnchor } = profile ?? {};
    if (timeZone === undefined && billingAnchor === undefined) return limits;
    const known = this.#byLimits.get(limits)?.get(timeZone)?.get(billingAnchor);
    if (known !== undefined) return known;
    return this.#add(limits, { timeZone, billingAnchor });
  }

  #add(limits: readonly RuleLimit[], calendar: TenantProfile): readonly RuleLimit[] {
    if (this.#size >= VARIANTS_MAX) {
      this.#byLimits.clear();
      this.#size = 0;
    }
    const made = this.#make(limits, calendar);
    const byZone: Variants = this.#byLimits.get(limits) ?? new Map();
    const byAnchor = byZone.get(calendar.timeZone) ?? new Map();
    this.#byLimits.set(limits, byZone);
    byZone.set(calendar.timeZone, byAnchor);
    byAnchor.set(calendar.billingAnchor, made);
    this.#size++;
    return made;
  }

  #make(limits: readonly RuleLimit[], calendar: TenantProfile): readonly RuleLimit[] {
    const own = limits.map(({ kind }) => limitOfTenant(kind.limit, calendar));
    if (own.every((limit, i) => limit === limits[i]?.kind.limit)) return limits;
    const { kind, counter } = limits[0];
    return toRuleLimits(own, this.#context, {
      from: kind.from,
      scope: counter.scope,
      before: NO_COUNTERS,
    });
  }
}

const TENANT = "tenant:";

function followsTenants(rule: Rule): boolean {
  return rule.key.some(({ kind }) => kind === "tenant") && allLimitsOf(rule).some(isOpen);
}

/** Whether a limit leaves open when its periods begin. */
function isOpen(limit: Limit): limit is QuotaLimit {
  return limit.algorithm === "quota" && !(limit.ownTimeZone && limit.ownAnchor);
}

/** The limit in the calendar of a tenant; the limit itself if that is its calendar, or not a calendar. */
export function limitOfTenant(limit: Limit, { timeZone, billingAnchor }: TenantProfile): Limit {
  if (!isOpen(limit)) return limit;
  try {
    return quotaInCalendar(limit, { timeZone, anchor: toAnchor(limit, billingAnchor) });
  } catch {
    return limit;
  }
}

/** A day of the month says nothing of weeks and days; a date also has a weekday and a time. */
function toAnchor(
  { period }: QuotaLimit,
  billingAnchor: TenantProfile["billingAnchor"],
): number | string | undefined {
  return typeof billingAnchor === "number" && period !== "month" ? undefined : billingAnchor;
}
