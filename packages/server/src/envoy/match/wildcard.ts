// Wildcards in values of descriptors, as envoyproxy/ratelimit has them: each `*` stands for any characters, or none.
// The parts between the stars are searched from left to right, each once and without going back, so the time grows
// with the length of the text and no request can make it grow faster.

/** A name with a `*` in it, as the parts around its stars. */
export interface Wildcard {
  readonly first: string;
  /** What has to come in between, in this order. */
  readonly middle: readonly Part[];
  readonly last: string;
  /** The characters of all parts: a shorter string can't match. */
  readonly lengthMin: number;
}

/** A literal to be found in a string. */
interface Part {
  readonly text: string;
  /** By the number of characters that fitted, how many still fit after a mismatch; undefined for short parts. */
  readonly resume: Int32Array | undefined;
}

/** Up to this length `indexOf` searches a part: at worst it compares each character this many times. */
const SHORT_LENGTH_MAX = 16;

/** The wildcard that a name is; undefined without a `*`. */
export function toWildcard(name: string): Wildcard | undefined {
  const parts = name.split("*");
  const last = parts.pop() ?? "";
  const [first, ...middle] = parts;
  if (first === undefined) return undefined;
  const lengthMin = name.length - parts.length;
  // Nothing between two stars is found everywhere.
  return { first, middle: middle.filter((text) => text !== "").map(toPart), last, lengthMin };
}

/** Whether the wildcard matches a string. */
export function isMatch(wildcard: Wildcard, text: string): boolean {
  if (!fitsAround(wildcard, text)) return false;
  const { first, middle, last } = wildcard;
  let from = first.length;
  for (const part of middle) {
    from = findEnd(part, text, from);
    if (from < 0) return false;
  }
  return from <= text.length - last.length;
}

/** Whether a string begins and ends as the wildcard does, and is long enough. */
export function fitsAround({ first, last, lengthMin }: Wildcard, text: string): boolean {
  return text.length >= lengthMin && text.startsWith(first) && text.endsWith(last);
}

/** Where the first occurrence from `from` on ends; -1 if there is none. */
function findEnd({ text: part, resume }: Part, text: string, from: number): number {
  if (resume === undefined) {
    const at = text.indexOf(part, from);
    return at < 0 ? -1 : at + part.length;
  }
  // Knuth, Morris and Pratt: no character of the text is looked at again after it fitted.
  let fitted = 0;
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at);
    while (fitted > 0 && part.charCodeAt(fitted) !== code) fitted = resume[fitted];
    if (part.charCodeAt(fitted) === code) fitted++;
    if (fitted === part.length) return at + 1;
  }
  return -1;
}

function toPart(text: string): Part {
  return { text, resume: text.length > SHORT_LENGTH_MAX ? toResume(text) : undefined };
}

/** For each count of fitting characters, how many of the last of them begin the part again. */
function toResume(part: string): Int32Array {
  const resume = new Int32Array(part.length + 1);
  let fitted = 0;
  for (let at = 1; at < part.length; at++) {
    while (fitted > 0 && part[fitted] !== part[at]) fitted = resume[fitted];
    if (part[fitted] === part[at]) fitted++;
    resume[at + 1] = fitted;
  }
  return resume;
}
