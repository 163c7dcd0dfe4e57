// `durable` of a rule: that its quotas are kept in a ledger, and what the ledger does besides counting.

import { UNITS_MAX } from "../../../algorithms/numbers.js";
import {
  as,
  either,
  flag,
  isRecord,
  listOf,
  object,
  type Shape,
  stringFor,
  wholeNumber,
  withDefault,
} from "../../../base/shapes/shapes.js";
import type { Durable } from "../../rule.js";

const ALERTS_MAX = 16;
const PERCENT = { min: 1, max: 100 };
const ALERT_AT = [80, 100];

const percentString: Shape<number> = stringFor({
  what: "a percentage such as 80%",
  pattern: "^([1-9][0-9]?|100)%$",
  lengthMax: 4,
  toValue: (text) => (/^([1-9]\d?|100)%$/.test(text) ? Number(text.slice(0, -1)) : undefined),
});

const percent: Shape<number> = either("a percentage from 1 to 100, such as 80%", [
  { fits: (value) => typeof value === "number", shape: wholeNumber(PERCENT) },
  { fits: (value) => typeof value === "string", shape: percentString },
]);

/** The form of `durable` that is an object. */
export const durableFields = object({
  carryOver: withDefault(
    wholeNumber({ min: 0, max: UNITS_MAX }),
    0,
    "The most unused units that a period hands on to the next one, where they are used first.",
  ),
  alertAt: withDefault(
    listOf(percent, { countMin: 0, countMax: ALERTS_MAX }),
    ALERT_AT,
    "The percentages of a quota at which an event goes out, once in each period.",
  ),
  header: withDefault(
    flag,
    false,
    "Whether responses say that a percentage of `alertAt` is used: `Sluice-Quota-Warning`.",
  ),
});

const DEFAULT: Durable = {
  carryOverMax: 0,
  alertShares: ALERT_AT.map((each) => each / 100),
  hasHeader: false,
};

/** Whether a rule is durable, and how. */
export const durable: Shape<Durable | false> = either("true, false or an object with options", [
  {
    fits: (value) => typeof value === "boolean",
    shape: as(flag, (isDurable): Durable | false => (isDurable ? DEFAULT : false)),
  },
  {
    fits: isRecord,
    shape: as(durableFields, ({ carryOver, alertAt, header }, spot): Durable | undefined => {
      if (header && alertAt.length === 0) {
        return spot.in("header").say("has nothing to show without a percentage in alertAt");
      }
      const percents = [...new Set(alertAt)].sort((a, b) => a - b);
      const alertShares = percents.map((each) => each / 100);
      return { carryOverMax: carryOver, alertShares, hasHeader: header };
    }),
  },
]);
