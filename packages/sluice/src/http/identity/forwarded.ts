// The `Forwarded` header (RFC 7239), read from its end. A client may have sent the beginning, so that
// must not decide how the rest is read: read from the left, an unpaired quote of a client's would
// swallow what the proxies wrote behind it.

/** An entry of a list, and where it starts: the comma that ends the one before it comes right there. */
export interface LastEntry {
  readonly start: number;
  /** Undefined if it names no client. */
  readonly text: string | undefined;
}

const QUOTE = 34;
const BACKSLASH = 92;
const COMMA = 44;
const SEMICOLON = 59;

/**
 * The `for` of the last element of the header, read as if it were cut off at `end`. Undefined if the
 * element has no `for` or more than one, or is malformed; `unknown` and hidden names are returned as
 * they are.
 */
export function readForwardedFor(text: string, end: number): LastEntry {
  let found: string | undefined;
  let isUsable = true;
  let pairEnd = end;
  let at = end - 1;
  for (; at >= 0; at--) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = openingQuote(text, at);
      if (at < 0) isUsable = false;
    } else if (code === COMMA || code === SEMICOLON) {
      take(text.slice(at + 1, pairEnd));
      pairEnd = at;
      if (code === COMMA) break;
    }
  }
  if (at < 0) take(text.slice(0, pairEnd));
  return { start: Math.max(at, -1) + 1, text: isUsable ? found : undefined };

  function take(pair: string): void {
    const value = readPair(pair);
    if (value === undefined) return;
    if (found !== undefined || value === "") isUsable = false;
    found = value;
  }
}

/** Where the quoted string that ends at `closing` begins; -1 if it does not. */
function openingQuote(text: string, closing: number): number {
  for (let at = text.lastIndexOf('"', closing - 1); at >= 0; at = text.lastIndexOf('"', at - 1)) {
    if (!isEscaped(text, at)) return at;
    if (at === 0) break;
  }
  return -1;
}

function isEscaped(text: string, at: number): boolean {
  let backslashes = 0;
  while (text.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes++;
  return backslashes % 2 === 1;
}

/** The value of `for=value`, "" if it is malformed; undefined if the pair is another one. */
function readPair(pair: string): string | undefined {
  const equals = pair.indexOf("=");
  if (pair.slice(0, Math.max(0, equals)).trim().toLowerCase() !== "for") return undefined;
  const value = pair.slice(equals + 1).trim();
  if (!value.startsWith('"')) return value.includes('"') ? "" : value;
  // One quoted string and nothing beside it: its opening quote is the first character.
  if (value.length < 2 || !value.endsWith('"') || openingQuote(value, value.length - 1) !== 0) {
    return "";
  }
  return value.slice(1, -1).replace(/\\(.)/gs, "$1");
}
