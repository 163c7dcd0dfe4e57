// Serves the dashboard: static files, built by packages/dashboard, under /dashboard/. They hold no data, so they need
// no login; what they show comes from the routes, which do. Every other path below /dashboard/ is a page of the
// application, which reads the URL itself.

import type { IncomingMessage } from "node:http";
import { gunzipSync } from "node:zlib";
import { ServerError } from "../../base/errors.js";
import type { AdminReply } from "../replies/admin-reply.js";
import { type DashboardFile, readDashboardFiles } from "./files.js";

/** Where the dashboard is. */
export const DASHBOARD_PATH = "/dashboard/";

const PAGE = "index.html";
/** Names of files below it have a hash of their content. */
const HASHED = "assets/";
const YEAR_S = 31_536_000;

/** Nothing comes from elsewhere, nothing inline is run, and no other page may frame it. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "worker-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const HEADERS = {
  "Content-Security-Policy": POLICY,
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "X-Frame-Options": "DENY",
};

/** Answers requests for the dashboard. The files are read at the first one. */
export class Dashboard {
  #files: ReadonlyMap<string, DashboardFile> | undefined;

  /** Whether a path is the dashboard's: it, what is below it, and `/`, which leads there. */
  has(pathname: string): boolean {
    return pathname === "/" || pathname === "/dashboard" || pathname.startsWith(DASHBOARD_PATH);
  }

  /** @throws ServerError `SLUICE_NOT_FOUND` for a file that is not there. */
  answer({ headers }: IncomingMessage, pathname: string): AdminReply {
    if (!pathname.startsWith(DASHBOARD_PATH)) return redirect(DASHBOARD_PATH);
    this.#files ??= readDashboardFiles();
    const name = pathname.slice(DASHBOARD_PATH.length);
    const isPage = !name.startsWith(HASHED) && !this.#files.has(name);
    const file = this.#files.get(isPage ? PAGE : name);
    if (file === undefined) throw toMiss(isPage, pathname);
    return toReply(file, headers["accept-encoding"] ?? "", name.startsWith(HASHED));
  }
}

function redirect(path: string): AdminReply {
  const body = `${path}\n`;
  return { status: 302, type: "text/plain; charset=utf-8", body, headers: { Location: path } };
}

function toMiss(isPage: boolean, pathname: string): ServerError {
  const seen = isPage
    ? "this installation has no dashboard; in a clone, build it with npm run build"
    : pathname;
  return new ServerError("SLUICE_NOT_FOUND", seen);
}

/** Compressed, for clients that take it. */
function toReply(file: DashboardFile, accepted: string, isHashed: boolean): AdminReply {
  const isCompressed = /\bgzip\b/.test(accepted);
  return {
    status: 200,
    type: file.type,
    body: isCompressed ? file.gzip : unpacked(file),
    headers: {
      ...HEADERS,
      Vary: "Accept-Encoding",
      "Cache-Control": isHashed ? `public, max-age=${YEAR_S}, immutable` : "no-cache",
      ...(isCompressed && { "Content-Encoding": "gzip" }),
    },
  };
}

/** Unpacked once: requests for files need no login, and must not cost more than a copy. */
function unpacked(file: DashboardFile): Buffer {
  const known = unpackedFiles.get(file) ?? gunzipSync(file.gzip);
  unpackedFiles.set(file, known);
  return known;
}

const unpackedFiles = new WeakMap<DashboardFile, Buffer>();
