// What the gateway does with a field, by its name: which end at each hop, which it writes itself, and which
// only a trusted peer may say. Most names are settled by their length, without a copy in lower case.

/** Goes on as it is, unless `Connection` names it. */
export const KEPT = 0;
/** Ends here: it is about this connection, or we write our own. */
export const DROPPED = 1;
/** Names further fields that end here. */
export const CONNECTION = 2;
/** `trailers` alone goes on. */
export const TE = 3;
/** Written anew. */
export const HOST = 4;
/** Continued or replaced. */
export const FORWARDED_FOR = 5;
/** Kept from trusted peers, else replaced. */
export const FORWARDED_PROTO = 6;
/** Kept from trusted peers, else replaced. */
export const FORWARDED_HOST = 7;
/** Kept from trusted peers only: somebody behind us may believe it. */
export const FROM_TRUSTED = 8;
/** The body's length. */
export const CONTENT_LENGTH = 9;
/** The body's codings on this connection. */
export const TRANSFER_ENCODING = 10;

/**
 * What a field is. Servers that pass fields on as variables take `_` for `-`, and so do we: nothing
 * gets by us under the other spelling.
 */
export function kindOf(name: string): number {
  switch (name.length) {
    case 2:
      return isName(name, "te") ? TE : KEPT;
    case 4:
      return isName(name, "host") ? HOST : KEPT;
    case 6:
      return isName(name, "expect") ? DROPPED : KEPT;
    case 7:
      return isName(name, "upgrade") ? DROPPED : KEPT;
    case 9:
      return isName(name, "forwarded") || isName(name, "x-real-ip") ? FROM_TRUSTED : KEPT;
    case 10:
      if (isName(name, "connection")) return CONNECTION;
      return isName(name, "keep-alive") ? DROPPED : KEPT;
    case 13:
      return isName(name, "x-rewrite-url") ? FROM_TRUSTED : KEPT;
    case 14:
      if (isName(name, "content-length")) return CONTENT_LENGTH;
      return isName(name, "x-original-url") ? FROM_TRUSTED : KEPT;
    default:
      return name.length > 14 ? kindOfLong(name) : KEPT;
  }
}

function kindOfLong(name: string): number {
  const first = name.charCodeAt(0) | 0x20;
  if (first === 0x78) return kindOfForwarded(name);
  if (first === 0x74) return isName(name, "transfer-encoding") ? TRANSFER_ENCODING : KEPT;
  if (first !== 0x70) return KEPT;
  const isOfProxy =
    isName(name, "proxy-connection") ||
    isName(name, "proxy-authenticate") ||
    isName(name, "proxy-authorization");
  return isOfProxy ? DROPPED : KEPT;
}

const FORWARDED = "x-forwarded-";

function kindOfForwarded(name: string): number {
  if (!startsWithName(name, FORWARDED)) return KEPT;
  if (isName(name, "x-forwarded-for")) return FORWARDED_FOR;
  if (isName(name, "x-forwarded-proto")) return FORWARDED_PROTO;
  return isName(name, "x-forwarded-host") ? FORWARDED_HOST : FROM_TRUSTED;
}

function isName(name: string, lowerCase: string): boolean {
  return name.length === lowerCase.length && startsWithName(name, lowerCase);
}

/**
 * Whether a name begins with another, which is in lower case. Letters match in either case, and `_` matches `-`.
 */
export function startsWithName(name: string, lowerCase: string): boolean {
  if (name.length < lowerCase.length) return false;
  for (let i = 0; i < lowerCase.length; i++) {
    const code = name.charCodeAt(i);
    const wanted = lowerCase.charCodeAt(i);
    const isSame = wanted === 0x2d ? code === 0x2d || code === 0x5f : (code | 0x20) === wanted;
    if (!isSame) return false;
  }
  return true;
}

/** The names in values of `Connection`, in lower case; undefined if there are none that could be fields. */
export function namesIn(connection: string): ReadonlySet<string> | undefined {
  if (isUsual(connection)) return undefined;
  const names = new Set<string>();
  for (const part of connection.split(",", OPTIONS_MAX)) names.add(part.trim().toLowerCase());
  return names;
}

/** More options than this no honest client sends; with the bound on heads it is never reached by chance. */
const OPTIONS_MAX = 10_000;

function isUsual(connection: string): boolean {
  return connection === "keep-alive" || connection === "close" || connection === "Keep-Alive";
}
