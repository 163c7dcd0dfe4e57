// Markup that can't be broken out of: every value that is put into it is escaped, unless it is markup itself.

/** A piece of HTML. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** What can be put into markup. Lists are joined, false and null leave nothing. */
export type Value = Markup | string | number | false | null | readonly Value[];

/** Markup with values in it: html`<p>${text}</p>`. */
export function html(strings: TemplateStringsArray, ...values: readonly Value[]): Markup {
  let text = strings[0];
  for (const [at, value] of values.entries()) text += toText(value) + strings[at + 1];
  return new Markup(text);
}

function toText(value: Value): string {
  if (value instanceof Markup) return value.text;
  if (Array.isArray(value)) return value.map(toText).join("");
  return value === false || value === null ? "" : escaped(String(value));
}

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Safe between tags and in quoted attributes. Control characters and turns of direction become visible. */
function escaped(text: string): string {
  return text
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, "\ufffd")
    .replace(/[&<>"']/g, (character) => ESCAPES[character] ?? "");
}
