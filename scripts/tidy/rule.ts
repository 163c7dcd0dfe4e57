// What a house rule is, and the few helpers that rules share. A rule takes text
// and returns complaints; reading files and printing is left to the caller.

/** One breach, written as `path:line: what is wrong`. */
export type Complaint = string;

/** Judges one file by itself. */
export type FileRule = (path: string, text: string) => Complaint[];

/** Judges files against each other. Keys are paths from the root, with forward slashes. */
export type TreeRule = (files: ReadonlyMap<string, string>) => Complaint[];

/** Writes a complaint about the line that holds the character at `offset`. */
export function complain(path: string, text: string, offset: number, wrong: string): Complaint {
  return `${path}:${text.slice(0, offset).split("\n").length}: ${wrong}`;
}

/** One complaint for each match of a global pattern. */
export function complainOfMatches(
  path: string,
  text: string,
  pattern: RegExp,
  wrong: (found: string) => string,
): Complaint[] {
  return [...text.matchAll(pattern)].map((match) =>
    complain(path, text, match.index, wrong(match[0])),
  );
}

export function isTypeScript(path: string): boolean {
  return /\.tsx?$/.test(path);
}

export function isTest(path: string): boolean {
  return path.endsWith(".test.ts");
}

/** Code that ships: the sources of a package, without their tests. */
export function isPackageSource(path: string): boolean {
  return /^packages\/[^/]+\/src\//.test(path) && isTypeScript(path) && !isTest(path);
}

const stringOrComment =
  /"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`|\/\/[^\n]*|\/\*[\s\S]*?\*\//g;

/** The text with its comments blanked out; lines and offsets stay where they are. */
export function withoutComments(text: string): string {
  return blankParts(text, "/");
}

/** The text with comments and all strings blanked out. */
export function withoutCommentsAndStrings(text: string): string {
  return blankParts(text, "/\"'`");
}

/** The text with comments blanked out, and strings that quote code: they hold double quotes. */
export function withoutCommentsAndSamples(text: string): string {
  return blankParts(text, "/'`");
}

function blankParts(text: string, openers: string): string {
  return text.replace(stringOrComment, (part) =>
    openers.includes(part[0] as string) ? part.replace(/[^\n]/g, " ") : part,
  );
}
