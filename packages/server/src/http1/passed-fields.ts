// The fields of a request that go on to whoever is asked next: all but those that end at this hop, by their
// names or because `Connection` names them, and those that only a trusted peer may say. Rules count by
// these and no others: by a field that is dropped afterwards a client could be somebody else each time.

import * as kind from "./field-names.js";

/**
 * The fields that are passed on, names and values in turn, in the client's order and spelling. Among them are
 * some that a proxy writes itself with what they say: Host, the body's length, the client's address.
 *
 * @param isPeerTrusted - Whether what the peer says about the client is trusted.
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

/** `Connection` does not reach these: what a trusted peer says of the client is not the client's. */
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
