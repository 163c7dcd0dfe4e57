// A status of a response, or a class of them.

import { as, choice, either, type Shape, wholeNumber } from "../../../base/shapes/shapes.js";

/** A whole status, or a class such as `4xx` as its first digit. */
export const status: Shape<number> = either('a status from 100 to 599 or a class such as "4xx"', [
  { fits: (value) => typeof value === "number", shape: wholeNumber({ min: 100, max: 599 }) },
  {
    fits: (value) => typeof value === "string",
    shape: as(choice(["1xx", "2xx", "3xx", "4xx", "5xx"]), (name) => Number(name[0])),
  },
]);
