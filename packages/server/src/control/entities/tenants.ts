// Tenants: the customers that API keys belong to, each with a plan, a calendar, attributes and a status.

import {
  anyString,
  choice,
  either,
  finiteNumber,
  object,
  optional,
  type ReadAs,
  recordOf,
  type Shape,
  stringFor,
  wholeNumber,
  withDefault,
} from "sluice/shapes";
import { didYouMean } from "../../base/did-you-mean.js";
import { ServerError, show } from "../../base/errors.js";
import type { CollectionKind } from "./collection.js";
import { entityName, nameForPeople } from "./entity-shapes.js";

const ATTRIBUTES_MAX = 50;
/** The names that a misspelt plan is compared with, at most. */
const PLANS_COMPARED_MAX = 1_000;

const timeZone: Shape<string> = stringFor({
  what: "an IANA time zone such as Europe/Paris",
  lengthMax: 100,
  toValue: (name) => (isTimeZone(name) ? name : undefined),
});

const billingAnchor: Shape<number | string> = either("a day of the month or a local date", [
  { fits: (value) => typeof value === "number", shape: wholeNumber({ min: 1, max: 31 }) },
  {
    fits: () => true,
    shape: stringFor<number | string>({
      what: "a day of the month from 1 to 31, or a local date such as 2024-01-31 or 2024-01-31T09:30",
      pattern: "^\\d{4}-\\d{2}-\\d{2}",
      lengthMax: 19,
      toValue: (date) => (isLocalDate(date) ? date : undefined),
    }),
  },
]);

const attribute: Shape<string | number> = either("a string or a number", [
  { fits: (value) => typeof value === "number", shape: finiteNumber },
  { fits: () => true, shape: anyString(1_000, 0) as Shape<string | number> },
]);

/** A customer. */
export const tenantShape = object({
  name: optional(nameForPeople(200), "For people."),
  plan: optional(entityName, "Its plan. Default: none, so that the limits of the rules hold."),
  timeZone: withDefault(timeZone, "UTC", "Where its days and months begin."),
  billingAnchor: withDefault(billingAnchor, 1, "When its months begin."),
  attributes: withDefault(
    recordOf(entityName, attribute, { countMin: 0, countMax: ATTRIBUTES_MAX }),
    {},
    "Attributes that its requests have, for rules.",
  ),
  status: withDefault(
    choice(["active", "suspended"]),
    "active",
    "Requests of a suspended tenant are refused.",
  ),
});

/** A tenant. */
export type Tenant = ReadAs<typeof tenantShape>;

/** Tenants, by id. */
export const tenants: CollectionKind<Tenant> = {
  kind: "tenant",
  noun: "tenant",
  shape: tenantShape,
  parentOf: ({ plan }) => plan,
  check: async ({ body: { plan } }, entities) => {
    if (plan === undefined || (await entities.find("plan", plan)) !== undefined) return;
    const names = (await entities.list("plan", { limit: PLANS_COMPARED_MAX })).map(({ id }) => id);
    const hint = didYouMean(plan, names) || `; create it first: sluice plans set ${plan}`;
    const seen = `plan must be the name of a plan, got ${show(plan)}${hint}`;
    throw new ServerError("SLUICE_REQUEST_INVALID", seen);
  },
  checkRemoval: async (id, entities) => {
    const [key] = await entities.list("api-key", { parent: id, limit: 1 });
    if (key === undefined) return;
    throw new ServerError(
      "SLUICE_CONFLICT",
      "the tenant has API keys; revoke them first, or suspend the tenant",
    );
  },
};

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

const LOCAL_DATE = /^(\d{4})-(\d{2})-(\d{2})(?:T\d{2}:\d{2}(?::\d{2})?)?$/;

function isLocalDate(date: string): boolean {
  const [, year, month, day] = LOCAL_DATE.exec(date) ?? [];
  const instant = Date.parse(`${date.length === 10 ? `${date}T00:00` : date}Z`);
  if (day === undefined || Number.isNaN(instant)) return false;
  // 31 April parses as 1 May.
  return new Date(instant).toISOString().startsWith(`${year}-${month}-${day}`);
}
