// What lines of several logs can all say: a rule that needs more can't be judged by all of them.

import type { FormatFacts } from "../log-format.js";

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
    attributes: all
      .map(({ attributes }) => attributes)
      .reduce((a, b) => intersect(a, b) as ReadonlySet<string>),
  };
}

function intersect(
  a: ReadonlySet<string> | "any",
  b: ReadonlySet<string> | "any",
): ReadonlySet<string> | "any" {
  if (a === "any") return b;
  return b === "any" ? a : new Set([...a].filter((name) => b.has(name)));
}
