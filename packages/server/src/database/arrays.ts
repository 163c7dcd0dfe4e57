// Columns of rows as array literals of PostgreSQL: a statement over arrays has the same text however many rows there are.

import type { SqlValue } from "./database.js";

const QUOTED = /[\\"]/g;

/** The array literal of one column of rows. */
export function toArray(rows: readonly (readonly SqlValue[])[], column: number): string {
  let text = "{";
  for (let at = 0; at < rows.length; at++) {
    if (at > 0) text += ",";
    text += toElement((rows[at] as readonly SqlValue[])[column] as SqlValue);
  }
  return `${text}}`;
}

function toElement(value: SqlValue): string {
  if (value === null) return "NULL";
  if (typeof value === "number") return String(value);
  const isUnquoted = !value.includes('"') && !value.includes("\\");
  return isUnquoted ? `"${value}"` : `"${value.replace(QUOTED, "\\$&")}"`;
}
