// Names of fields that some application takes for one another. A caller that sends such a field beside the counted one
// could be counted by the one and be served by the other, so fields of one spelling are read together.

import { foldCase } from "../../rules/normalize/normalize-string.js";

/**
 * How a name is read where case and blanks around it don't matter: Go and .NET read `Account` as `account`, and to Go the
 * old long s (`ſ`) is an `s`.
 */
export function toSpelling(name: string): string {
  return foldCase(name.trim());
}

/**
 * The same for names in forms, queries and cookies. PHP reads `session.id`, `session id` and `session[id` as
 * `session_id`, and a name up to its first NUL.
 */
export function toVariableSpelling(name: string): string {
  const nul = name.indexOf("\0");
  return toSpelling(nul < 0 ? name : name.slice(0, nul)).replace(/[ .[]/g, "_");
}
