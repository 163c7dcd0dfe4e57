// The section `lists`: files of addresses that are refused, or not limited, at every listener.

import { listOf, section, withDefault } from "./fields.js";
import { filePath } from "./strings.js";

const FILES_MAX = 100;

/** Files of addresses. */
export const listsSection = section({
  deny: withDefault(
    listOf(filePath(), { min: 0, max: FILES_MAX }),
    [],
    "Files of addresses and ranges whose requests are refused before any rule is asked; they are watched.",
  ),
  allow: withDefault(
    listOf(filePath(), { min: 0, max: FILES_MAX }),
    [],
    "Files of addresses and ranges that no rule counts; they are watched. An address in both is refused.",
  ),
});
