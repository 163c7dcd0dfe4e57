// Fetches a key set over the network, with bounds: the server there may hang, redirect or never stop sending.

import { formatDuration } from "../../../base/durations.js";
import { show } from "../../../base/errors.js";
import { type OptionSite, refuse } from "../../../base/shapes/code-options.js";

/** How long a fetch may take, from connecting to the last byte. */
const FETCH_MS_MAX = 5_000;
/** Larger than any key set that is in use: a key with its certificates takes some 3 KB. */
const KEY_SET_BYTES_MAX = 262_144;

/** A URL that keys may come from: `https`, or plain `http` on this machine. */
export function toKeySetUrl(site: OptionSite, given: unknown): URL {
  if (typeof given !== "string" || !URL.canParse(given)) {
    refuse(
      site,
      `jwksUrl must be a URL such as https://login.example.com/jwks, got ${show(given)}`,
    );
  }
  const url = new URL(given);
  // Not shown: it holds a password.
  if (url.username !== "" || url.password !== "") refuse(site, "jwksUrl must have no credentials");
  const isSafe =
    url.protocol === "https:" || (url.protocol === "http:" && isLoopback(url.hostname));
  if (isSafe) return url;
  refuse(site, `jwksUrl must be https, or http on a loopback address, got ${show(given)}`);
}

function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127(\.\d+){3}$/.test(hostname);
}

/** The text of a key set. Rejects with an error that says what went wrong. */
export async function fetchKeySet(url: URL): Promise<string> {
  try {
    const response = await fetch(url, {
      // A redirect could lead to plain HTTP.
      redirect: "error",
      headers: { accept: "application/jwk-set+json, application/json" },
      signal: AbortSignal.timeout(FETCH_MS_MAX),
    });
    if (response.status !== 200) {
      await response.body?.cancel();
      throw new Error(`it answered with status ${response.status}`);
    }
    return await readBounded(response);
  } catch (error) {
    throw new Error(`${url.origin}${url.pathname}: ${reasonOf(error)}`, { cause: error });
  }
}

async function readBounded(response: Response): Promise<string> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  // Leaving the loop cancels the rest.
  for await (const piece of response.body ?? []) {
    length += piece.length;
    if (length > KEY_SET_BYTES_MAX) throw new Error(`more than ${KEY_SET_BYTES_MAX} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString("utf8");
}

/** `fetch` says "fetch failed"; what failed is its cause. */
function reasonOf(error: unknown): string {
  const { name, message, cause } = error as Error;
  if (name === "TimeoutError") return `no answer within ${formatDuration(FETCH_MS_MAX)}`;
  if (!(cause instanceof Error)) return message;
  return cause.message === "" ? ((cause as NodeJS.ErrnoException).code ?? message) : cause.message;
}
