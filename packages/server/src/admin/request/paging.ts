// Lists, page by page: `?after=&limit=` and `{ items, next }`.

import { anyString, optional, type Shape, withDefault } from "sluice/shapes";

const LIMIT_MAX = 1_000;
const LIMIT = 100;

/** A whole number in a query. */
export function queryNumber({
  min,
  max,
}: {
  readonly min: number;
  readonly max: number;
}): Shape<number> {
  const what = `a whole number from ${min} to ${max}`;
  return {
    what,
    schema: { type: "integer", minimum: min, maximum: max },
    read: (value, spot) => {
      const read = /^\d{1,16}$/.test(String(value)) ? Number(value) : Number.NaN;
      return read >= min && read <= max ? read : spot.refuse(what, value);
    },
  };
}

/** The parameters of every list. */
export const paging = {
  after: optional(anyString(300), "`next` of the page before. Default: the first page."),
  limit: withDefault(queryNumber({ min: 1, max: LIMIT_MAX }), LIMIT, "How many items, at most."),
};

/** A page out of one item more than was asked for, if there are this many. */
export function toPage<T>(
  items: readonly T[],
  limit: number,
  cursorOf: (item: T) => string | number,
): { readonly items: readonly T[]; readonly next: string | null } {
  if (items.length <= limit) return { items, next: null };
  const page = items.slice(0, limit);
  return { items: page, next: String(cursorOf(page[limit - 1])) };
}
