// A real nginx, for tests of what it asks.

import { join } from "node:path";
import { ensureProgram } from "../programs/find-program.js";
import { type ProxyProcess, startProxy } from "./proxy-process.js";

/** Options of `startNginx`. */
export interface NginxOptions {
  /** The whole configuration, for a server that listens at this port of the loopback address. */
  readonly config: (port: number) => string;
}

/**
 * Starts nginx on a free loopback port; it is installed if it is missing. Whatever it writes goes to a
 * temporary folder. The caller ends it with `stop()`; if not, it ends with this process.
 */
export function startNginx({ config }: NginxOptions): Promise<ProxyProcess> {
  return startProxy({
    binary: ensureProgram("nginx"),
    files: ({ port, folder }) => ({ "nginx.conf": withFolder(config(port), folder) }),
    args: ({ folder }) => {
      const main = `daemon off; master_process off; pid ${join(folder, "nginx.pid")};`;
      return ["-p", folder, "-c", join(folder, "nginx.conf"), "-e", "stderr", "-g", main];
    },
  });
}

const tempPaths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];

function withFolder(config: string, folder: string): string {
  const paths = tempPaths.map((name) => `${name}_temp_path ${join(folder, name)};`);
  const lines = ["access_log off;", ...paths].join(" ");
  return config.replace(/^http \{$/m, `http {\n  ${lines}`);
}
