// The fields of a request that a proxy forwards: all but hop-by-hop fields, which are known by name or named in
// `Connection`, and those that only a trusted peer may send. A proxy that identifies callers by a field should use these
// only: a client could send a new value of a field that is dropped afterwards, and be a new caller each time.

import * as kind from "../message/field-names.js";

/**
 * The fields that are forwarded, names and values in turn, in the client's order and spelling. Some of them are
 * only the source of what a proxy writes itself: Host, the body's length, the client's address.
 *
 * @param isPeerTrusted - Whether the peer is trusted to speak for the client.
 */
export function toPassedFields(raw: readonly string[], isPeerTrusted: boolean): string[] {
  const named = namedByConnection(raw);
  const passed: string[] = [];
  let hasUnderscore = false;
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i];
    const known = kind.kindOf(name);
    const isPassed =
      known === kind.KEPT ? named?.has(name.toLowerCase()) !== true : goesOn(known, isPeerTrusted);
    if (!isPassed) continue;
    passed.push(name, raw[i + 1]);
    hasUnderscore ||= name.includes("_");
  }
  return hasUnderscore ? withoutOtherSpellings(passed) : passed;
}

/**
 * The fields without those that are another one's name spelt with `_`: servers that pass fields on as variables read
 * `X_Api_Key` as `X-Api-Key`, and would see another caller than the proxy counted. Alone it stays.
 */
function withoutOtherSpellings(passed: readonly string[]): string[] {
  const spellings = new Map<string, Set<string>>();
  for (let i = 0; i < passed.length; i += 2) {
    const name = passed[i].toLowerCase();
    const read = name.replaceAll("_", "-");
    const known = spellings.get(read);
    if (known === undefined) spellings.set(read, new Set([name]));
    else known.add(name);
  }
  const kept: string[] = [];
  for (let i = 0; i < passed.length; i += 2) {
    const name = passed[i].toLowerCase();
    const isOther = name.includes("_") && spellings.get(name.replaceAll("_", "-"))?.size !== 1;
    if (!isOther) kept.push(passed[i], passed[i + 1]);
  }
  return kept;
}

/** These are forwarded even if `Connection` names them: the client can't remove what a trusted peer says about it. */
function goesOn(known: number, isPeerTrusted: boolean): boolean {
  if (known >= kind.FORWARDED_FOR && known <= kind.FROM_TRUSTED) return isPeerTrusted;
  return known === kind.HOST || known === kind.CONTENT_LENGTH;
}

/** The names in all lines of `Connection`. */
function namedByConnection(raw: readonly string[]): ReadonlySet<string> | undefined {
  let connection = "";
  for (let i = 0; i < raw.length; i += 2) {
    if (raw[i].length !== 10 || kind.kindOf(raw[i]) !== kind.CONNECTION) continue;
    connection = connection === "" ? raw[i + 1] : `${connection},${raw[i + 1]}`;
  }
  return connection === "" ? undefined : kind.namesIn(connection);
}
