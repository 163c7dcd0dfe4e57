// Statements over a list of rows. `:rows[(?, ?)]` in a statement stands for as many rows as there are, each written as in
// the brackets.

import { BoundedMap } from "sluice";
import type { Row, SqlValue } from "./database.js";

/** Runs a statement: `query` or `lock`. */
export type RunStatement = <R extends Row>(
  sql: string,
  values: readonly SqlValue[],
) => Promise<R[]>;

/** A statement takes at most 32,766 values in SQLite and 65,535 in PostgreSQL; the widest row here has 11. */
const ROWS_MAX = 1_000;
/** Rows of the longest list that {@link splitRows} makes. */
const SPLIT_ROWS_MAX = 64;
const EXPANDED_MAX = 2_000;
const LIST = /:rows\[(.*?)\](?=[\s)]|$)/s;

const expanded = new BoundedMap<string, string>(EXPANDED_MAX);

/** Runs a statement over rows, in as many calls as it takes. With no rows it does nothing. */
export async function runOverRows<R extends Row>(
  run: RunStatement,
  sql: string,
  rows: readonly (readonly SqlValue[])[],
): Promise<R[]> {
  const found: R[] = [];
  for (let at = 0; at < rows.length; at += ROWS_MAX) {
    const some = rows.slice(at, at + ROWS_MAX);
    found.push(...(await run<R>(expand(sql, some.length), some.flat())));
  }
  return found;
}

/** A statement over some of the rows of a list. */
export interface RowsStatement {
  readonly sql: string;
  readonly values: readonly SqlValue[];
  /** How many rows. */
  readonly count: number;
}

/**
 * A statement over rows as several, each over a number of rows that is a power of two, so that a few prepared
 * statements are enough for lists of any length.
 *
 * @param before - The values of `$1`, `$2`, … The values of the rows follow them.
 */
export function splitRows(
  sql: string,
  rows: readonly (readonly SqlValue[])[],
  before: readonly SqlValue[] = [],
): RowsStatement[] {
  const made: RowsStatement[] = [];
  for (let at = 0; at < rows.length; ) {
    const left = Math.min(rows.length - at, SPLIT_ROWS_MAX);
    const count = 2 ** Math.floor(Math.log2(left));
    const values = [...before];
    for (let i = at; i < at + count; i++) values.push(...(rows[i] as readonly SqlValue[]));
    made.push({ sql: expand(sql, count, before.length), values, count });
    at += count;
  }
  return made;
}

/** The statement for this many rows, whose values follow `before` others. */
function expand(sql: string, count: number, before = 0): string {
  const name = `${count} ${sql}`;
  const known = expanded.get(name);
  if (known !== undefined) return known;
  let place = before;
  const text = sql.replace(LIST, (_, row: string) => {
    const one = () => row.replaceAll("?", () => `$${++place}`);
    return Array.from({ length: count }, one).join(", ");
  });
  expanded.set(name, text);
  return text;
}
