// Hosts, normalised once: without port and trailing dot, in lower case.

/** The longest name that DNS knows. Of a longer one only the end can be covered by a pattern. */
const NAME_LENGTH_MAX = 253;
const PORT = /:\d{0,5}$/;

const NONE: readonly string[] = [];

/** A host, as it is matched: `API.example.com.:443` is `api.example.com`. Undefined if it is empty. */
export function toHost(host: string | undefined): string | undefined {
  if (host === undefined) return undefined;
  const name = host.trim().toLowerCase().replace(PORT, "");
  return (name.endsWith(".") ? name.slice(0, -1) : name) || undefined;
}

/** The patterns that cover a host: `*.example.com` and `*.com` for `api.example.com`. */
export function toWildcards(host: string | undefined): readonly string[] {
  if (host === undefined) return NONE;
  const wildcards: string[] = [];
  let dot = host.indexOf(".", host.length - NAME_LENGTH_MAX);
  while (dot >= 0) {
    wildcards.push(`*${host.slice(dot)}`);
    dot = host.indexOf(".", dot + 1);
  }
  return wildcards;
}
