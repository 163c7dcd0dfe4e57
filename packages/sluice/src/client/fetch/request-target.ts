// Where a request goes: the origin, by which clients keep their limits apart, and the path.

import { BoundedMap } from "../../base/bounded-map.js";
import { SluiceError, show } from "../../base/errors.js";
import { spreadHash } from "../../base/spread-hash.js";

/** What a URL says about a request. */
export interface RequestTarget {
  readonly origin: string;
  readonly path: string;
  /** The name of its route for GET, made once: most requests are. */
  readonly getRoute: string;
}

/** In a browser, URLs may be relative to the page. */
const PAGE = globalThis as { readonly location?: { readonly href: string } };

/** Targets by their URL, since programs ask for the same ones again and again. */
const knownTargets = new BoundedMap<string, RequestTarget>(1_000);
const KNOWN_LENGTH_MAX = 256;

/**
 * The target of a URL.
 *
 * @throws SluiceError `SLUICE_OPTION_INVALID` if it is not one.
 */
export function targetOf(url: string): RequestTarget {
  const known = knownTargets.get(url);
  if (known !== undefined) return known;
  const target = parseTarget(url);
  // A relative URL means another target on another page, and queries may have secrets.
  const isKept = url.length <= KNOWN_LENGTH_MAX && url.startsWith(target.origin);
  if (isKept && !url.includes("?")) knownTargets.set(url, target);
  return target;
}

function parseTarget(url: string): RequestTarget {
  let target: URL;
  try {
    target = new URL(url, PAGE.location?.href);
  } catch {
    throw new SluiceError("SLUICE_OPTION_INVALID", `fetch: invalid URL, got ${show(url)}`);
  }
  const { origin, pathname: path } = target;
  return { origin, path, getRoute: routeNameOf("GET", path) };
}

/** The name of a route. Of a long path, such as that of a `data:` URL, only a digest is remembered. */
export function routeNameOf(method: string, path: string): string {
  if (path.length <= KNOWN_LENGTH_MAX) return `${method} ${path}`;
  return `${method} ${spreadHash(path)} ${spreadHash(path, 1)}`;
}
