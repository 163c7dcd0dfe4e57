// The addresses of the pages about rules.

const BASE = "/dashboard/rules";
/** Pages that are not rules, though rules may have these ids. */
const PAGES = new Set(["edit", "history", "preview", "rule"]);

/** The page of a rule. */
export function toRuleAddress(id: string): string {
  const part = encodeURIComponent(id);
  return PAGES.has(id) ? `${BASE}/rule/${part}` : `${BASE}/${part}`;
}

/** The list of rules. */
export const RULES_ADDRESS: string = BASE;

/** The versions of the rules. */
export const HISTORY_ADDRESS: string = `${BASE}/history`;

/** A version. */
export function toVersionAddress(number: number): string {
  return `${HISTORY_ADDRESS}/${number}`;
}

/** The editor of a draft. Without one: the editor of a new draft of the published rules. */
export function toEditAddress(draft?: number): string {
  return draft === undefined ? `${BASE}/edit` : `${BASE}/edit/${draft}`;
}

/** The editor of a new draft, at the place of a rule in the published rules: `rule set 3:27`. */
export function toEditPlaceAddress(place: string | null | undefined): string {
  const [, line] = /:(\d+)$/.exec(place ?? "") ?? [];
  return line === undefined ? toEditAddress() : `${toEditAddress()}?line=${line}`;
}

/** What a draft would have done, with the button that publishes it. */
export function toReviewAddress(draft: number): string {
  return `${BASE}/preview/${draft}`;
}

/** A key under a rule. */
export function toKeyAddress(rule: string, key: string): string {
  return `/dashboard/key?${new URLSearchParams({ rule, key })}`;
}

/** What an address under this page names. */
export type RulesView =
  | { readonly kind: "list" | "history" }
  | { readonly kind: "rule"; readonly id: string }
  | { readonly kind: "edit"; readonly draft: number | undefined }
  | { readonly kind: "version" | "review"; readonly number: number }
  | { readonly kind: "missing" };

/** Reads `edit/7`, `history`, `login`. */
export function readRulesView(path: string): RulesView {
  const parts = path.slice(BASE.length).split("/").filter(Boolean);
  const [first, second] = parts.map(decode);
  if (first === undefined) return { kind: "list" };
  const number = /^\d{1,10}$/.test(second ?? "") ? Number(second) : undefined;
  if (parts.length > 2) return { kind: "missing" };
  if (first === "edit") return { kind: "edit", draft: number };
  if (first === "history" && second === undefined) return { kind: "history" };
  if (first === "history" && number !== undefined) return { kind: "version", number };
  if (first === "preview" && number !== undefined) return { kind: "review", number };
  if (first === "rule" && second !== undefined) return { kind: "rule", id: second };
  return second === undefined ? { kind: "rule", id: first } : { kind: "missing" };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
