// The fields of a request by name, and what becomes of several lines of one field.

/** Fields by lower-case name; several lines of one field are joined as Node joins them, or a list. */
export type HeaderValues = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Fields of which only the first line counts, as in Node. */
const FIRST_COUNTS: ReadonlySet<string> = new Set([
  "age",
  "content-length",
  "content-type",
  "etag",
  "expires",
  "from",
  "host",
  "if-modified-since",
  "if-unmodified-since",
  "last-modified",
  "location",
  "max-forwards",
  "proxy-authorization",
  "referer",
  "retry-after",
  "server",
  "user-agent",
]);

/** Fields that are lists by their definition, so that several lines mean the same as one. */
const LISTS: ReadonlySet<string> = new Set([
  "accept",
  "accept-charset",
  "accept-encoding",
  "accept-language",
  "access-control-request-headers",
  "baggage",
  "cache-control",
  "connection",
  "content-encoding",
  "content-language",
  "expect",
  "forwarded",
  "if-match",
  "if-none-match",
  "keep-alive",
  "link",
  "pragma",
  "prefer",
  "priority",
  "sec-ch-ua",
  "sec-ch-ua-full-version-list",
  "sec-websocket-extensions",
  "sec-websocket-protocol",
  "te",
  "tracestate",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "via",
  "warning",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-proto",
]);

type FieldLines = string | string[];

/** Fields by name; several lines of one field are joined as Node joins them. */
export function toValues(raw: readonly string[]): HeaderValues {
  return collect(raw, join);
}

/**
 * The same, with several lines of a field as a list unless the field is one by its definition: servers differ in which
 * of the lines they use.
 */
export function toSplitValues(raw: readonly string[]): HeaderValues {
  return collect(raw, joinLists);
}

function collect(
  raw: readonly string[],
  add: (name: string, before: FieldLines, value: string) => FieldLines,
): HeaderValues {
  const values: Record<string, FieldLines> = Object.create(null);
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i].toLowerCase();
    const before = values[name];
    const value = raw[i + 1];
    if (before !== undefined) values[name] = add(name, before, value);
    else values[name] = name === "set-cookie" ? [value] : value;
  }
  return values;
}

/** As Node joins lines. */
function join(name: string, before: FieldLines, value: string): FieldLines {
  if (typeof before === "object") {
    before.push(value);
    return before;
  }
  if (FIRST_COUNTS.has(name)) return before;
  return `${before}${name === "cookie" ? "; " : ", "}${value}`;
}

function joinLists(name: string, before: FieldLines, value: string): FieldLines {
  const isJoined = LISTS.has(name) || name === "cookie";
  return isJoined || typeof before === "object" ? join(name, before, value) : [before, value];
}
