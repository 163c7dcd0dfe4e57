// What a proxy does with a field, by its name: which fields end at each hop, which a proxy writes itself, and which only a
// trusted peer may send. Most names are distinguished by their length, without a copy in lower case.

// Taken off its prototype, as in message/fields.ts and for the same reason.
const { charCodeAt } = String.prototype;

/** Forwarded as it is, unless `Connection` names it. */
export const KEPT = 0;
/** Dropped: it belongs to this connection, or the proxy writes its own. */
export const DROPPED = 1;
/** Names further fields that are dropped. */
export const CONNECTION = 2;
/** Only `trailers` is forwarded. */
export const TE = 3;
/** Written again. */
export const HOST = 4;
/** Extended or replaced. */
export const FORWARDED_FOR = 5;
/** Kept if it comes from a trusted peer, otherwise replaced. */
export const FORWARDED_PROTO = 6;
/** Kept if it comes from a trusted peer, otherwise replaced. */
export const FORWARDED_HOST = 7;
/** Kept only from a trusted peer, because a server behind the proxy may trust it. */
export const FROM_TRUSTED = 8;
/** The body's length. */
export const CONTENT_LENGTH = 9;
/** The body's codings on this connection. */
export const TRANSFER_ENCODING = 10;

/**
 * The kind of a field. Servers that pass fields on as variables read `_` as `-`, and so does this: no field gets past
 * under the other spelling.
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
  const first = charCodeAt.call(name, 0) | 0x20;
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
    const code = charCodeAt.call(name, i);
    const wanted = charCodeAt.call(lowerCase, i);
    const isSame = wanted === 0x2d ? code === 0x2d || code === 0x5f : (code | 0x20) === wanted;
    if (!isSame) return false;
  }
  return true;
}

/** The names in a value of `Connection`, in lower case; undefined if none of them can be a field. */
export function namesIn(connection: string): ReadonlySet<string> | undefined {
  if (isUsual(connection)) return undefined;
  const names = new Set<string>();
  // As many as the bound on heads allows: one that was left out would be forwarded.
  for (const part of connection.split(",")) names.add(part.trim().toLowerCase());
  return names;
}

function isUsual(connection: string): boolean {
  return connection === "keep-alive" || connection === "close" || connection === "Keep-Alive";
}
