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
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i];
    const known = kind.kindOf(name);
    const isPassed =
      known === kind.KEPT ? named?.has(name.toLowerCase()) !== true : goesOn(known, isPeerTrusted);
    if (isPassed) passed.push(name, raw[i + 1]);
  }
  return passed;
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
