// Paths, normalised once, so that no other way of writing a path escapes the rule that is about it.

/** The segments of a path without its query, in lower case; none for `/`. */
export function toPathSegments(path: string): readonly string[] {
  const end = path.search(/[?#]/);
  return (end < 0 ? path : path.slice(0, end))
    .toLowerCase()
    .split("/")
    .filter((segment) => segment !== "");
}
