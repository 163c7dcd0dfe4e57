// Several connections of one process, beside another process: a lock of a file is the process's, and closing any
// descriptor of the file gives it up.

import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { makeFolder } from "sluice-test-servers";
import { expect, it } from "vitest";
import { openDatabase } from "./open-database.js";

const COUNT = `
  const Database = require("libsql");
  const db = new Database(process.argv[1]);
  console.log(db.prepare("SELECT count(*) AS count FROM t").get().count);
  db.close();
`;

/** Opens the file in another process, reads it and closes it, as a backup or a shell does. */
function countElsewhere(path: string): number {
  const cwd = fileURLToPath(new URL("../..", import.meta.url));
  return Number(execFileSync(process.execPath, ["-e", COUNT, path], { cwd, encoding: "utf8" }));
}

it("keeps the log of a file that is opened twice when another process closes it", async () => {
  const path = join(makeFolder("locks"), "a.db");
  const first = openDatabase(`file:${path}`, "/");
  await first.query("CREATE TABLE t (n INTEGER PRIMARY KEY)");
  const second = openDatabase(`file:${path}`, "/");
  await first.query("INSERT INTO t (n) VALUES (1)");
  expect(countElsewhere(path)).toBe(1);
  await first.query("INSERT INTO t (n) VALUES (2)");
  await second.query("INSERT INTO t (n) VALUES (3)");
  expect(countElsewhere(path)).toBe(3);
  await second.close();
  await first.query("INSERT INTO t (n) VALUES (4)");
  expect(countElsewhere(path)).toBe(4);
  await first.close();
  expect(countElsewhere(path)).toBe(4);
});
