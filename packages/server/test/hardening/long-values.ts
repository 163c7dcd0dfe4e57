// Values that are expensive to read: each is the worst case, at any length, of some piece of code that looks at
// what a client sends.

/** Makes a string of about this many UTF-16 units. */
export type Make = (length: number) => string;

function repeat(piece: string): Make {
  return (length) => piece.repeat(Math.ceil(length / piece.length));
}

const ABOVE = "\u0301";
const BELOW = "\u0323";

/** Strings, for every dimension that counts by a string. */
export const TEXTS: Readonly<Record<string, Make>> = {
  "plain letters": repeat("a"),
  "capital letters": repeat("A"),
  "marks out of order": (length) => `a${ABOVE.repeat(length / 2)}${BELOW.repeat(length / 2)}`,
  "marks that take turns": repeat(ABOVE + BELOW),
  "marks in runs of thirty": repeat(`a${(ABOVE + BELOW).repeat(15)}`),
  "marks with invisible characters between them": repeat(`${ABOVE.repeat(15)}\u200b${BELOW}\u034f`),
  "marks with letters that become marks": repeat(`${ABOVE.repeat(20)}\uff9e${BELOW}`),
  "marks that come apart": repeat("\u0344\u0323"),
  "letters with a mark": repeat(`e${ABOVE}`),
  "parts of syllables": repeat("\u1112\u1161\u11ab"),
  "one character that stands for eighteen": repeat("\ufdfa"),
  "one character that has three capitals": repeat("\u0390"),
  "letters by their neighbours": repeat("Σ'"),
  "letters outside the first plane": repeat("\u{1d400}"),
  "halves of pairs": repeat("a\ud800"),
  "invisible characters": repeat("a\u200b"),
  blanks: repeat(" "),
  "blanks between letters": repeat("a "),
  "separators of keys": repeat("|%"),
  "accents in between": repeat("aé"),
};

/** Paths as they are written, without the first slash. */
export const PATHS: Readonly<Record<string, Make>> = {
  "escaped letters": repeat("%61"),
  "escaped capitals and slashes": repeat("%41/"),
  "escaped accents": repeat("%C3%A9"),
  "escaped accents between letters": repeat("a%C3%A9"),
  "escaped accents and a parameter": (length) => `${repeat("%C3%A9")(length - 2)};a`,
  "escaped accents in parameters": repeat("%C3%A9;"),
  "escaped accents and segments": repeat("%C3%A9;/"),
  "capitals and a host": (length) => `/H/;${repeat("A")(length - 4)}`,
  "escapes behind a host": (length) => `/h;/..;/${repeat("%C3%A9")(length - 8)}`,
  segments: repeat("a/"),
  "segments with parameters": repeat("a;b/"),
  parameters: repeat(";"),
  "empty segments": repeat("/"),
  dots: repeat("./"),
  "two dots": repeat("a/../"),
  "escaped dots": repeat("%2e%2e/"),
  backslashes: repeat("a\\"),
  fragments: repeat("#"),
  questions: repeat("?a=b&"),
  "broken escapes": repeat("%"),
  "escapes that are not UTF-8": repeat("%C3"),
};

/** Header fields, and contents of cookies. */
export const FIELDS: Readonly<Record<string, Make>> = {
  commas: repeat(","),
  lists: repeat("a, "),
  semicolons: repeat(";"),
  equals: repeat("="),
  quotes: repeat('"'),
  "escaped quotes": repeat('\\"'),
  backslashes: repeat("\\"),
  tabs: repeat("a\t"),
  bytes: repeat("\xe9"),
  colons: repeat(":"),
  brackets: repeat("["),
  cookies: repeat("a=1;"),
  "cookies of many names": (length) =>
    Array.from({ length: length / 8 }, (_, i) => `${String(i).padStart(5, "k")}=1;`).join(""),
  "cookies with broken escapes": repeat("a=%;"),
  "cookies with quotes": repeat('a="%22";'),
};

/** Hosts. */
export const HOSTS: Readonly<Record<string, Make>> = {
  dots: repeat("."),
  labels: repeat("a."),
  percents: repeat("%"),
  capitals: repeat("A."),
};

/** JSON bodies from which a cost is read. */
export const COSTS: Readonly<Record<string, Make>> = {
  digits: (length) => `{"max_tokens":${"1".repeat(length)}}`,
  "digits of an exponent": (length) => `{"max_tokens":1e${"9".repeat(length)}}`,
  "digits of a fraction": (length) => `{"max_tokens":0.${"0".repeat(length)}1}`,
  "the same name": (length) => `{${repeat('"max_tokens":1,')(length)}"max_tokens":2}`,
  "names that are numbers": (length) =>
    `{${Array.from({ length: length / 9 }, (_, i) => `"${10_000 + i}":1,`).join("")}"max_tokens":2}`,
  "escaped names": (length) => `{${repeat('"max\\u005ftokens":1,')(length)}"max_tokens":2}`,
  "lists in lists": (length) => `{"max_tokens":${"[".repeat(length / 2)}${"]".repeat(length / 2)}}`,
  "a string without an end": (length) => `{"max_tokens":"${"a".repeat(length)}`,
};
