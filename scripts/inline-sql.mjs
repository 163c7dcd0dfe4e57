// Puts the SQL of the service into modules: the statements of a folder and those below it by the names of their files,
// and the migrations in their order with a checksum. Runs before every build; plain JavaScript, because nothing is compiled yet.

import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";

const server = join(import.meta.dirname, "../packages/server/src");

/** @param {string} folder */
function readSql(folder) {
  const files = readdirSync(join(server, folder), { recursive: true, encoding: "utf8" });
  const statements = files
    .filter((file) => file.endsWith(".sql"))
    .map((file) => {
      const lines = readFileSync(join(server, folder, file), "utf8").split("\n");
      const text = lines.filter((line) => !/^\s*(--|$)/.test(line)).join("\n");
      return { name: basename(file, ".sql"), text };
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  const twice = statements.find(({ name }, i) => name === statements[i + 1]?.name);
  if (twice !== undefined) throw new Error(`${folder} has two files ${twice.name}.sql`);
  return statements;
}

/** @param {string} name */
const toCamel = (name) => name.replace(/-(\w)/g, (_, letter) => letter.toUpperCase());

/** @param {string} path @param {string} text */
function write(path, text) {
  let before = "";
  try {
    before = readFileSync(join(server, path), "utf8");
  } catch {
    // Not made yet.
  }
  if (before !== text) writeFileSync(join(server, path), text);
}

const HEAD = "// Made from the .sql files of this folder by scripts/inline-sql.mjs, at every build. Not edited.\n";

for (const folder of ["control/sql", "ledger/sql"]) {
  const statements = readSql(folder).map(
    ({ name, text }) => `  ${toCamel(name)}: ${JSON.stringify(text)},`,
  );
  const text = `${HEAD}
/** Every statement, by the name of its file. */
export const statements = {
${statements.join("\n")}
} as const;
`;
  write(`${folder}/statements.ts`, text);
}

const migrations = readSql("database/migrations").map(({ name, text }, index) => {
  const number = Number.parseInt(name, 10);
  if (number !== index + 1) throw new Error(`migration ${name} must be number ${index + 1}`);
  const checksum = createHash("sha256").update(text).digest("hex");
  return `  {\n    number: ${number},\n    name: "${name}",\n    checksum: "${checksum}",\n    sql: ${JSON.stringify(text)},\n  },`;
});
const text = `${HEAD}
/** A numbered change of the schema. */
export interface Migration {
  readonly number: number;
  readonly name: string;
  /** SHA-256 of its statements. */
  readonly checksum: string;
  readonly sql: string;
}

/** All migrations, in their order. */
export const migrations: readonly Migration[] = [
${migrations.join("\n")}
];
`;
write("database/migrations/migrations.ts", text);
