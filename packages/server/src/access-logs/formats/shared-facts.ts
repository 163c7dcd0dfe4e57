// What lines of several logs can all say: a rule that needs more can't be judged by all of them.

import type { FormatFacts } from "../log-format.js";

type Names = ReadonlySet<string> | "any";

/** The facts that all formats have; all facts if there are no formats. */
export function sharedFacts(all: readonly FormatFacts[]): FormatFacts {
  const every = (has: (facts: FormatFacts) => boolean) => all.every(has);
  return {
    user: every(({ user }) => user),
    host: every(({ host }) => host),
    tenant: every(({ tenant }) => tenant),
    tier: every(({ tier }) => tier),
    apiKey: every(({ apiKey }) => apiKey),
    status: every(({ status }) => status),
    bodyBytes: every(({ bodyBytes }) => bodyBytes),
    forwardedFor: every(({ forwardedFor }) => forwardedFor),
    headers: all.map(({ headers }) => headers).reduce(intersect, "any"),
    attributes: all.map(({ attributes }) => attributes).reduce(intersect, "any"),
  };
}

function intersect(a: Names, b: Names): Names {
  if (a === "any") return b;
  return b === "any" ? a : new Set([...a].filter((name) => b.has(name)));
}
