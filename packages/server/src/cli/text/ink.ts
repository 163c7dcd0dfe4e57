// Colours, and text that is safe to print: what clients send may not move the cursor or forge lines.

import { toPrintable } from "../../base/printable.js";

/** Colours what is printed, or leaves it as it is. */
export interface Ink {
  good(text: string): string;
  bad(text: string): string;
  strong(text: string): string;
  faint(text: string): string;
}

/** For terminals. */
export const coloured: Ink = {
  good: (text) => `\x1b[32m${text}\x1b[0m`,
  bad: (text) => `\x1b[31m${text}\x1b[0m`,
  strong: (text) => `\x1b[1m${text}\x1b[0m`,
  faint: (text) => `\x1b[2m${text}\x1b[0m`,
};

/** For files and pipes. */
export const plain: Ink = {
  good: (text) => text,
  bad: (text) => text,
  strong: (text) => text,
  faint: (text) => text,
};

/** The one that a terminal shows. */
export function inkFor({ hasColour }: { readonly hasColour: boolean }): Ink {
  return hasColour ? coloured : plain;
}

/** Text of a stranger on one line, without control characters, at most `lengthMax` characters long. */
export function safe(text: string, lengthMax = 80): string {
  const characters = [...toPrintable(text.slice(0, lengthMax * 2 + 2))];
  if (characters.length <= lengthMax) return characters.join("");
  return `${characters.slice(0, lengthMax - 1).join("")}…`;
}
