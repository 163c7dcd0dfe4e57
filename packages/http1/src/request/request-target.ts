// The request target in one canonical form, which is matched, counted and forwarded: no other way of writing a path gets
// past a rule, because it does not get past this file. A target without a single meaning (a backslash, an escaped slash, a
// broken escape, a parameter on a dot segment) is refused, since the server behind may read it in another way.

// Taken off its prototype, as in message/fields.ts and for the same reason.
const { charCodeAt } = String.prototype;

/** A request target that every server reads as the same path. */
export interface RequestTarget {
  /** The path without the query: `/a/b`; `*` of `OPTIONS *`. ASCII, without dot or empty segments. */
  readonly path: string;
  /** The path and the query, as it is forwarded. */
  readonly target: string;
}

// The kind of a character of a path. Characters that a URI must escape are escaped rather than refused: servers read both
// forms as the same.
const ORDINARY = 0;
const SLASH = 1;
const DOT = 2;
const ESCAPE = 3;
const QUERY = 4;
const TO_ESCAPE = 5;
const REFUSED = 6;

const KINDS = toKinds();

/**
 * Reads a request target; undefined if it has to be refused with 400.
 *
 * @param url - As in the request line: a path with or without a query, or a whole `http:` URL.
 * @param method - Of the request; only `OPTIONS` may ask for `*`.
 * @param host - The Host header; a whole URL that names another host is refused. Undefined: not compared.
 */
export function readRequestTarget(
  url: string,
  method?: string,
  host?: string,
): RequestTarget | undefined {
  if (charCodeAt.call(url, 0) !== 0x2f) return readOther(url, method, host);
  for (let i = 1; i < url.length; i++) {
    const kind = KINDS[charCodeAt.call(url, i)];
    if (kind === ORDINARY) continue;
    if (kind === QUERY) return join(url.slice(0, i), url, i);
    const isTidySlash = kind === SLASH && KINDS[charCodeAt.call(url, i - 1)] !== SLASH;
    const isInnerDot = kind === DOT && KINDS[charCodeAt.call(url, i - 1)] !== SLASH;
    if (!isTidySlash && !isInnerDot) return readOdd(url);
  }
  return { path: url, target: url };
}

/** A target that is not a path: a whole URL, or the asterisk. */
function readOther(url: string, method: string | undefined, host: string | undefined) {
  if (url === "*") return method === "OPTIONS" ? { path: "*", target: "*" } : undefined;
  const [prefix, authority] = /^https?:\/\/([\w.~!$&'()*+,;=:[\]%-]+)(?=[/?]|$)/i.exec(url) ?? [];
  if (prefix === undefined) return undefined;
  if (host !== undefined && host.toLowerCase() !== authority?.toLowerCase()) return undefined;
  const rest = url.slice(prefix.length);
  return readRequestTarget(rest.startsWith("/") ? rest : `/${rest}`);
}

function readOdd(url: string): RequestTarget | undefined {
  const question = url.indexOf("?");
  const end = question < 0 ? url.length : question;
  const unescaped = toUnreserved(url.slice(0, end));
  const path = unescaped === undefined ? undefined : resolveDots(unescaped);
  if (path === undefined) return undefined;
  return question < 0 ? { path, target: path } : join(path, url, question);
}

/** The query is forwarded as it is: servers agree about where it starts, and rules don't read it. */
function join(path: string, url: string, question: number): RequestTarget | undefined {
  for (let i = question + 1; i < url.length; i++) {
    const code = charCodeAt.call(url, i);
    // Spaces and controls would end the request line for some server; a fragment is never sent.
    if (code <= 0x20 || code === 0x7f || code === 0x23 || code > 0xff) return undefined;
  }
  return { path, target: path === url.slice(0, question) ? url : path + url.slice(question) };
}

/** A path whose escapes are in their one form: none of unreserved characters, the others in upper case. */
function toUnreserved(path: string): string | undefined {
  const written = Buffer.allocUnsafe(3 * path.length);
  let length = 0;
  for (let i = 0; i < path.length; i++) {
    let byte = charCodeAt.call(path, i);
    const kind = KINDS[byte];
    let isEscaped = kind === TO_ESCAPE;
    if (kind === ESCAPE) {
      byte = byteAt(path, i);
      if (byte < 0 || isRefused(byte)) return undefined;
      if (byte >= 0xc0 && isOverlong(byte, byteAt(path, i + 3))) return undefined;
      isEscaped = !isUnreserved(byte);
      i += 2;
    } else if (kind !== ORDINARY && kind !== SLASH && kind !== DOT && !isEscaped) return undefined;
    if (isEscaped) {
      written[length++] = 0x25;
      written[length++] = HEX.charCodeAt(byte >> 4);
      written[length++] = HEX.charCodeAt(byte & 15);
    } else written[length++] = byte;
  }
  return written.toString("latin1", 0, length);
}

const HEX = "0123456789ABCDEF";

/** The byte that the escape at an offset spells; -1 if there is none. */
function byteAt(path: string, at: number): number {
  if (charCodeAt.call(path, at) !== 0x25) return -1;
  const high = hexDigit(charCodeAt.call(path, at + 1));
  const low = hexDigit(charCodeAt.call(path, at + 2));
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

function hexDigit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const letter = code | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}

/** Escaped controls, slashes and backslashes: servers differ about whether they are what they spell. */
function isRefused(byte: number): boolean {
  return byte < 0x20 || byte === 0x7f || byte === 0x2f || byte === 0x5c;
}

/** More bytes than a character needs: not UTF-8, but a slash or a dot to careless decoders. */
function isOverlong(byte: number, next: number): boolean {
  if (next < 0x80 || next > 0xbf) return false;
  if (byte === 0xe0) return next < 0xa0;
  return byte === 0xc0 || byte === 0xc1 || (byte === 0xf0 && next < 0x90);
}

/** Letters, digits and `-._~`: escaped or not, they are the same. */
function isUnreserved(byte: number): boolean {
  const letter = byte | 0x20;
  if ((letter >= 0x61 && letter <= 0x7a) || (byte >= 0x30 && byte <= 0x39)) return true;
  return byte === 0x2d || byte === 0x2e || byte === 0x5f || byte === 0x7e;
}

/** The path without dot segments and empty ones. `..` at the root stays there, as RFC 3986 has it. */
function resolveDots(path: string): string | undefined {
  const kept: string[] = [];
  let endsOpen = true;
  for (const segment of path.split("/")) {
    // Java's servers take `..;x` for a dot segment, others don't.
    if (segment.startsWith(".") && /^\.{1,2};/.test(segment)) return undefined;
    endsOpen = segment === "" || segment === "." || segment === "..";
    if (segment === "..") kept.pop();
    else if (!endsOpen) kept.push(segment);
  }
  return kept.length === 0 ? "/" : `/${kept.join("/")}${endsOpen ? "/" : ""}`;
}

function toKinds(): Uint8Array {
  const kinds = new Uint8Array(0x100).fill(REFUSED);
  kinds.fill(TO_ESCAPE, 0x80, 0x100);
  for (const letter of '"<>[]^`{|}') kinds[letter.charCodeAt(0)] = TO_ESCAPE;
  for (let code = 0x21; code < 0x7f; code++) {
    if (/[\w~!$&'()*+,;=:@-]/.test(String.fromCharCode(code))) kinds[code] = ORDINARY;
  }
  kinds[0x2f] = SLASH;
  kinds[0x2e] = DOT;
  kinds[0x25] = ESCAPE;
  kinds[0x3f] = QUERY;
  return kinds;
}
