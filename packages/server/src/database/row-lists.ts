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

/** The statement for this many rows. */
function expand(sql: string, count: number): string {
  const name = `${count} ${sql}`;
  const known = expanded.get(name);
  if (known !== undefined) return known;
  let place = 0;
  const text = sql.replace(LIST, (_, row: string) => {
    const one = () => row.replaceAll("?", () => `$${++place}`);
    return Array.from({ length: count }, one).join(", ");
  });
  expanded.set(name, text);
  return text;
}
