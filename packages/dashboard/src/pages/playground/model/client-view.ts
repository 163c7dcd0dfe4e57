// What a client sees of a decision: the status and the headers, as the library writes them.

import { limitResponses } from "sluice/response";
import { type Algorithm, toLimit } from "./algorithms.js";
import type { Settings } from "./settings.js";
import type { Attempt } from "./simulate.js";

/** A response, as far as limits have a say in it. */
export interface SeenResponse {
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
}

/** The headers that the page shows. */
const SHOWN = ["RateLimit-Policy", "RateLimit", "Retry-After"];

/** What the client of an attempt sees. */
export function toSeen(algorithm: Algorithm, settings: Settings, attempt: Attempt): SeenResponse {
  const responses = limitResponses({
    name: algorithm === "quota" ? "daily" : "api",
    limit: toLimit(algorithm, settings),
  });
  // Earlier requests were held for this long.
  if (attempt.atMs >= settings.holdMs) responses.noteHold(settings.holdMs);
  const { status = 200, fields } = responses.responseTo(attempt.decision);
  const headers: [string, string][] = [];
  for (let at = 0; at < fields.length; at += 2) {
    const [name = "", value = ""] = fields.slice(at, at + 2);
    if (SHOWN.includes(name)) headers.push([name, value]);
  }
  return { status, headers };
}
