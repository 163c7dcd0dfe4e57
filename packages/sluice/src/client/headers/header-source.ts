// Headers, wherever they come from: the Headers of fetch, or the objects and lists of undici.

/** Reads one header by its name in lower case. Several lines of one name are joined by commas. */
export interface HeaderSource {
  get(name: string): string | null | undefined;
}

/** What undici and Node take for headers: an object, names and values in turn, pairs, or `Headers`. */
export type HeadersLike =
  | HeaderSource
  | Readonly<Record<string, string | readonly string[] | undefined>>
  | readonly string[]
  | Iterable<readonly [string, string | readonly string[]]>
  | null
  | undefined;

/** One header out of anything that carries headers; undefined if it is not there. */
export function headerOf(headers: HeadersLike, name: string): string | undefined {
  if (headers === null || headers === undefined) return undefined;
  if (isSource(headers)) return headers.get(name) ?? undefined;
  if (Array.isArray(headers) && typeof headers[0] === "string") {
    for (let i = 0; i + 1 < headers.length; i += 2) {
      if (isNamed(headers[i], name)) return String(headers[i + 1]);
    }
    return undefined;
  }
  const pairs = isIterable(headers) ? headers : Object.entries(headers);
  for (const [key, value] of pairs) {
    if (isNamed(key, name) && value !== undefined) return joined(value);
  }
  return undefined;
}

/** Headers with one of this name and value, in a form that fetch and undici take. The original is not changed. */
export function withHeader(headers: HeadersLike, name: string, value: string): [string, string][] {
  const pairs: [string, string][] = [];
  if (Array.isArray(headers) && typeof headers[0] === "string") {
    for (let i = 0; i + 1 < headers.length; i += 2) {
      pairs.push([String(headers[i]), String(headers[i + 1])]);
    }
  } else if (headers !== null && headers !== undefined) {
    const entries = isIterable(headers) ? headers : Object.entries(headers);
    for (const [key, each] of entries as Iterable<[string, string | readonly string[] | undefined]>)
      if (each !== undefined) pairs.push([key, joined(each)]);
  }
  return [...pairs.filter(([key]) => !isNamed(key, name)), [name, value]];
}

/** Headers that can be read again and again: an iterator, such as `map.entries()`, is empty after the first time. */
export function toLasting(headers: HeadersLike): HeadersLike {
  const isOnce = typeof (headers as { next?: unknown } | null | undefined)?.next === "function";
  return isOnce ? Array.from(headers as Iterable<readonly [string, string]>) : headers;
}

function isSource(headers: object): headers is HeaderSource {
  // A Map is read as pairs, since its keys have upper and lower case.
  return typeof (headers as Partial<HeaderSource>).get === "function" && !(headers instanceof Map);
}

function isIterable(
  headers: object,
): headers is Iterable<readonly [string, string | readonly string[]]> {
  return typeof (headers as { [Symbol.iterator]?: unknown })[Symbol.iterator] === "function";
}

function isNamed(key: unknown, name: string): boolean {
  return typeof key === "string" && key.length === name.length && key.toLowerCase() === name;
}

function joined(value: string | readonly string[]): string {
  return typeof value === "string" ? value : value.join(", ");
}
