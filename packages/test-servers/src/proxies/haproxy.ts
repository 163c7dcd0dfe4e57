// A real HAProxy, for tests of what it asks.

import { join } from "node:path";
import { ensureProgram } from "../programs/find-program.js";
import { type ProxyProcess, startProxy } from "./proxy-process.js";

/** Options of `startHaproxy`. */
export interface HaproxyOptions {
  /** The whole configuration, for a frontend that listens at this port of the loopback address. */
  readonly config: (port: number) => string;
  /** Files that it names, such as Lua scripts: they lie in the folder in which it runs. */
  readonly files?: Readonly<Record<string, string>>;
}

/**
 * Starts HAProxy on a free loopback port; it is installed if it is missing. The caller ends it with
 * `stop()`; if not, it ends with this process.
 */
export function startHaproxy({ config, files = {} }: HaproxyOptions): Promise<ProxyProcess> {
  return startProxy({
    binary: ensureProgram("haproxy"),
    files: ({ port }) => ({ ...files, "haproxy.cfg": config(port) }),
    args: ({ folder }) => ["-db", "-f", join(folder, "haproxy.cfg")],
  });
}
