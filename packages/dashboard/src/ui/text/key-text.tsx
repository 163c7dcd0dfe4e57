// Keys and other strings that callers choose, shown so that they can do no harm: characters that can't be seen or that
// turn the direction of text are written out, and what is long is cut until all of it is asked for.

import { useState } from "preact/hooks";
import { Button } from "../forms/button.js";

interface KeyTextProps {
  readonly value: string;
  /** Characters that are shown before the rest is cut off. */
  readonly lengthMax?: number;
  /** Where it leads. Default: nowhere. */
  readonly href?: string | undefined;
}

const LENGTH_MAX = 80;

/** Control characters, marks of direction, invisible spaces and halves of characters. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
/** Joins emoji, which would fall apart without it. */
const JOINER = "\u200d";

/** A string of a caller, in the letters of code. */
export function KeyText({ value, lengthMax = LENGTH_MAX, href }: KeyTextProps) {
  const [isWhole, setIsWhole] = useState(false);
  const letters = [...value];
  const isLong = letters.length > lengthMax;
  const shown = isLong && !isWhole ? letters.slice(0, lengthMax).join("") : value;
  const text = (
    <bdi>
      <code>{escapeUnseen(shown)}</code>
    </bdi>
  );
  return (
    <span class="key-text">
      {href === undefined ? text : <a href={href}>{text}</a>}
      {isLong && (
        <Button kind="quiet" isPressed={isWhole} onClick={() => setIsWhole(!isWhole)}>
          {isWhole ? "Show less" : `… all ${letters.length} characters`}
        </Button>
      )}
    </span>
  );
}

/** The same string, with what can't be seen written as `\u{202E}`. */
export function escapeUnseen(value: string): string {
  return value.replace(UNSEEN, (letter) =>
    letter === JOINER ? letter : `\\u{${toHex(letter.codePointAt(0) ?? 0)}}`,
  );
}

function toHex(code: number): string {
  return code.toString(16).toUpperCase().padStart(4, "0");
}
