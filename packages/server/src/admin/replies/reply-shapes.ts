// Parts of the shapes of answers. Fields that are not listed may come too, so that a command can ask a newer service.

import {
  anyString,
  type Fields,
  type FieldsInPlace,
  finiteNumber,
  listOf,
  objectInPlace,
  orNull,
  required,
  type Shape,
} from "sluice/shapes";

/** More than any answer has: the client bounds the bytes of one. */
const COUNT_MAX = 16_777_216;

/** Any number of entries. */
export const ANY_COUNT = { countMin: 0, countMax: COUNT_MAX };

/** Any string. */
export const text = anyString(COUNT_MAX, 0);

/** JSON has no Infinity: it is null. */
export const amount = orNull(finiteNumber);

/** An object that may have other fields too. */
export function open<F extends Fields>(
  fields: F,
): Shape<FieldsInPlace<F>> & { readonly fields: F } {
  return objectInPlace(fields, { isOpen: true });
}

/** A list of any length. */
export function many<T>(item: Shape<T>): Shape<readonly T[]> {
  return listOf(item, ANY_COUNT);
}

/** One page of a list. */
export function pageOf<T>(item: Shape<T>) {
  return open({
    items: required(many(item)),
    next: required(orNull(text), "What `after` has to be for the next page; null on the last one."),
  });
}
