// Keys that a careless store takes for one another: names of object properties, separators and
// brackets of key schemes, letters that compare equal after folding, and the very long.

const LONG = "x".repeat(65_535);

/** All different, all valid Unicode. */
export const hostileKeys: readonly string[] = [
  ...["a", "A", " a", "a ", "\ta", "a\n", "a\r\n", "\u200ba", "\ufeffa", "a\u0301"],
  ...["a:b", "a::b", "a:b:", ":a:b", "a/b", "a.b", "a|b", "a,b", "a\\b", "a%3Ab", "a+b", "a b"],
  ...["{a}", "{a}b", "b{a}", "{{a}}", "{}a", "a{}", "}a{", "[a]", "(a)", "<a>", "*", "?", "[a-z]"],
  ...["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "valueOf"],
  ...[
    "null",
    "undefined",
    "NaN",
    "true",
    "0",
    "00",
    "-0",
    "1",
    "01",
    "1.0",
    "1e0",
    "[object Object]",
  ],
  ...["\u0000", "\u0000\u0000", "a\u0000", "\u0000a", "a\u0000b", "a\u0000c"],
  // The same on screen: composed and decomposed, a ligature, Greek and Cyrillic lookalikes.
  ...["\u00e9", "e\u0301", "\ufb01", "fi", "\u00df", "ss", "\u0130", "i\u0307", "I", "i", "\u0131"],
  ...["\u03b1", "\u0430", "\u212b", "\u00c5", "A\u030a", "\u{1f600}", "\u{1f600}\ufe0f", "\uff41"],
  ...["'", '"', "`", "' or 1=1 --", "$(a)", "\u0024{a}", "%s", "%00", "\\0", "\u001b[0m", "\u007f"],
  ...[LONG, `${LONG}x`, `${LONG}y`, `y${LONG}`],
];

/** Lone surrogates: UTF-8 has no form of them, and an encoder writes the last one for all. */
export const illFormedKeys: readonly string[] = [
  ...["\ud800", "\udbff", "\udc00", "\udfff", "\ud800a", "a\ud800", "\udc00\ud800", "\ufffd"],
];
