// The Host of a request, off its fields as they came: `headers` would make an object of all of them first.

import type { IncomingMessage } from "node:http";

/** The value of Host; undefined if there is none. Framing has seen to it that there are not two. */
export function hostOf({ rawHeaders: raw }: IncomingMessage): string | undefined {
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i];
    if (name.length === 4 && (name === "Host" || name.toLowerCase() === "host")) return raw[i + 1];
  }
  return undefined;
}
