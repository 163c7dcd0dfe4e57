// Opens the database that a configuration names: `file:…` is SQLite, `postgres://…` is PostgreSQL.

import { isAbsolute, resolve } from "node:path";
import { ServerError } from "../base/errors.js";
import type { Database } from "./database.js";
import { openPostgres } from "./postgres.js";
import { openSqlite } from "./sqlite.js";

/**
 * Opens a database by its URL.
 *
 * @param folder - What a relative path of `file:` is relative to.
 * @throws ServerError `SLUICE_CONFIG_INVALID` if the URL is of neither kind; it is not shown, since it may hold a
 *   password.
 */
export function openDatabase(url: string, folder: string): Database {
  if (url.startsWith("file:")) {
    const path = url.slice("file:".length).replace(/^\/\//, "");
    if (path !== "") return openSqlite(isAbsolute(path) ? path : resolve(folder, path));
  }
  if (/^postgres(?:ql)?:\/\/./.test(url)) return openPostgres(url);
  const scheme = /^[a-z+]+(?=:)/i.exec(url)?.[0];
  const seen = scheme === undefined ? "without a scheme" : `that begins with "${scheme}:"`;
  throw new ServerError(
    "SLUICE_CONFIG_INVALID",
    `control.database must be file:PATH or postgres://…, got a URL ${seen}`,
  );
}
