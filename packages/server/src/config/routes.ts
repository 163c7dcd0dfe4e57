// Which route serves a request: the first whose path and host fit. Paths are compared in the canonical form
// of `readRequestTarget`, in which they are also forwarded.

import { readRequestTarget } from "sluice-http1";
import { ServerError, show } from "../base/errors.js";
import type { RouteConfig } from "./config.js";

interface Route {
  readonly config: RouteConfig;
  /** The path itself, or the one whose subtree is meant, without its last slash. */
  readonly path: string;
  /** The path with a slash behind it; undefined if only the path itself fits. */
  readonly below: string | undefined;
  readonly host: string | undefined;
  /** `.example.com` of `*.example.com`. */
  readonly hostEnd: string | undefined;
}

/** Routes in the order in which they are tried. */
export class Routes {
  readonly #routes: readonly Route[];
  readonly #looksAtHosts: boolean;

  /** @throws ServerError if a path is not one that a request could have. */
  constructor(routes: readonly RouteConfig[]) {
    this.#routes = routes.map(toRoute);
    this.#looksAtHosts = routes.some(({ host }) => host !== undefined);
  }

  /**
   * The first route that fits; undefined if none does. `/api/*` fits `/api` and everything below it.
   *
   * @param path - In the canonical form of `readRequestTarget`.
   * @param host - The Host header as it was sent, with or without port.
   */
  find(path: string, host: string | undefined): RouteConfig | undefined {
    const name = this.#looksAtHosts ? toHostName(host) : "";
    for (const route of this.#routes) {
      if (fitsPath(route, path) && fitsHost(route, name)) return route.config;
    }
    return undefined;
  }
}

/** The name in a Host header: in lower case, without port and last dot. */
export function toHostName(host: string | undefined): string {
  const name = (host ?? "").toLowerCase().replace(/:\d*$/, "");
  return name.endsWith(".") ? name.slice(0, -1) : name;
}

function fitsPath({ path, below }: Route, asked: string): boolean {
  return asked === path || (below !== undefined && asked.startsWith(below));
}

function fitsHost({ host, hostEnd }: Route, name: string): boolean {
  if (hostEnd !== undefined) return name.length > hostEnd.length && name.endsWith(hostEnd);
  return host === undefined || host === name;
}

function toRoute(config: RouteConfig): Route {
  const isSubtree = config.path.endsWith("/*");
  const path = toPath(isSubtree ? config.path.slice(0, -1) : config.path);
  const host = config.host === undefined ? undefined : toHostName(config.host);
  return {
    config,
    path: isSubtree ? path.slice(0, -1) : path,
    below: isSubtree ? path : undefined,
    host,
    hostEnd: host?.startsWith("*.") ? host.slice(1) : undefined,
  };
}

/** A path as requests have it once they are read, whatever way it is written in the configuration. */
function toPath(written: string): string {
  const ascii = written.replace(/[^\0-\x7f]+/g, encodeURIComponent);
  const { path, target } = readRequestTarget(ascii) ?? {};
  if (path === undefined || path !== target) {
    const seen = `a route's path must be a path such as "/api/*", got ${show(written)}`;
    throw new ServerError("SLUICE_CONFIG_INVALID", seen);
  }
  return path;
}
