// Loads one format without the others: most logs need less than half of the code that reads lines, and each replay starts a
// thread that loads it again.

import type { FormatName, LogFormat } from "../log-format.js";
import type { FieldMap } from "./field-map.js";

/** The format of that name. */
export async function loadFormat(name: FormatName, fields?: FieldMap): Promise<LogFormat> {
  if (name === "combined" || name === "common") return (await import("./common.js"))[name];
  const { formatOf } = await import("./detect.js");
  return formatOf(name, fields);
}
