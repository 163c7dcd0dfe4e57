// What an API key may be used for, and by which tenant. Many keys have the same rights, so the table of keys keeps
// them once, as a string.

/** What many keys have in common. */
export interface KeyRights {
  readonly tenant: string;
  readonly scopes: readonly string[];
}

/** The scopes of a key without scopes. */
const NO_SCOPES: readonly string[] = [];

/** As one string: JSON has no line break, so the last one ends the tenant. */
export function toRightsText(tenant: string, scopes: unknown): string {
  return `${tenant}\n${Array.isArray(scopes) && scopes.length > 0 ? JSON.stringify(scopes) : ""}`;
}

/** The rights of such a string. */
export function toRights(text: string): KeyRights {
  const end = text.lastIndexOf("\n");
  const scopes = text.slice(end + 1);
  return { tenant: text.slice(0, end), scopes: scopes === "" ? NO_SCOPES : JSON.parse(scopes) };
}
