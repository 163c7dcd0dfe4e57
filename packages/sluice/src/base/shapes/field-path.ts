// How messages name a value in a file: by its path, and by its line.

import { show } from "../errors.js";
import type { Path } from "./spot.js";

/** `limit[1].tokenBucket.capacity`, and `overrides["user:42"]`; empty for the whole. */
export function toFieldPath(path: Path): string {
  let text = "";
  for (const step of path) {
    if (typeof step === "number") text += `[${step}]`;
    else if (!/^[A-Za-z_$][\w$-]*$/.test(step)) text += `[${show(step)}]`;
    else text += text === "" ? step : `.${step}`;
  }
  return text;
}

/** A line as people write it: `sluice.yaml:14`, or `line 14` of a string without a name. */
export function toPlace(line: number | undefined, file: string | undefined): string | undefined {
  if (line === undefined) return file;
  return file === undefined ? `line ${line}` : `${file}:${line}`;
}
