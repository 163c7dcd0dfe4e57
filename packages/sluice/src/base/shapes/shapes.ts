/**
 * Shapes: one way to describe and check input. For Sluice's own packages: what is here may change in any release.
 *
 * @module
 */

export { type DurationUnit, formatDuration, UNITS_MS } from "../durations.js";
export { nameHint, nearestName } from "../nearest-name.js";
export { toFieldPath, toPlace } from "./field-path.js";
export {
  anyName,
  type CountBounds,
  listOf,
  type MapOptions,
  mapOf,
  oneOrMany,
  recordOf,
} from "./lists.js";
export {
  type FieldsInPlace,
  type ObjectOptions,
  type ObjectShape,
  object,
  objectInPlace,
  optional,
  type ReadFields,
  required,
  withDefault,
} from "./objects.js";
export {
  anyNumber,
  anyString,
  anything,
  as,
  type Bounds,
  choice,
  constant,
  either,
  type Field,
  type Fields,
  type Form,
  finiteNumber,
  flag,
  isRecord,
  type JsonSchema,
  orNull,
  positiveNumber,
  type ReadAs,
  readQuietly,
  type Shape,
  type StringOptions,
  stringFor,
  wholeNumber,
} from "./shape.js";
export { type Mismatch, type Path, Reading, Spot, TooManyValues } from "./spot.js";
