// Colours, and strings that are safe to print: what clients send must not move the cursor or forge lines.

import { toPrintable } from "../../base/printable.js";

/** Colours strings, or returns them unchanged. */
export interface Colours {
  good(text: string): string;
  bad(text: string): string;
  strong(text: string): string;
  faint(text: string): string;
}

/** For terminals. */
export const coloured: Colours = {
  good: (text) => `\x1b[32m${text}\x1b[0m`,
  bad: (text) => `\x1b[31m${text}\x1b[0m`,
  strong: (text) => `\x1b[1m${text}\x1b[0m`,
  faint: (text) => `\x1b[2m${text}\x1b[0m`,
};

/** For files and pipes. */
export const plain: Colours = {
  good: (text) => text,
  bad: (text) => text,
  strong: (text) => text,
  faint: (text) => text,
};

/** The colours for a terminal, if it shows colours. */
export function coloursFor({ hasColour }: { readonly hasColour: boolean }): Colours {
  return hasColour ? coloured : plain;
}

/** An untrusted string on one line, without control characters, at most `lengthMax` characters long. */
export function safe(text: string, lengthMax = 80): string {
  const characters = [...toPrintable(text.slice(0, lengthMax * 2 + 2))];
  if (characters.length <= lengthMax) return characters.join("");
  return `${characters.slice(0, lengthMax - 1).join("")}…`;
}
