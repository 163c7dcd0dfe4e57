// Puts the SQL of the control plane into one module: each statement by the name of its file, and the migrations in
// their order with a checksum. Runs before every build; plain JavaScript, because nothing is compiled yet.

import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const control = join(import.meta.dirname, "../packages/server/src/control");
const target = join(control, "sql/statements.ts");

/** @param {string} folder */
function readSql(folder) {
  const files = readdirSync(join(control, folder)).filter((file) => file.endsWith(".sql"));
  return files.sort().map((file) => {
    const lines = readFileSync(join(control, folder, file), "utf8").split("\n");
    const text = lines.filter((line) => !/^\s*(--|$)/.test(line)).join("\n");
    return { name: file.slice(0, -".sql".length), text };
  });
}

/** @param {string} name */
const toCamel = (name) => name.replace(/-(\w)/g, (_, letter) => letter.toUpperCase());

const statements = readSql("sql").map(
  ({ name, text }) => `  ${toCamel(name)}: ${JSON.stringify(text)},`,
);
const migrations = readSql("migrations").map(({ name, text }, index) => {
  const number = Number.parseInt(name, 10);
  if (number !== index + 1) throw new Error(`migration ${name} must be number ${index + 1}`);
  const checksum = createHash("sha256").update(text).digest("hex");
  return `  {\n    number: ${number},\n    name: "${name}",\n    checksum: "${checksum}",\n    sql: ${JSON.stringify(text)},\n  },`;
});

const text = `// Made from the .sql files beside and of migrations/ by scripts/inline-sql.mjs, at every build. Not edited.

/** A numbered change of the schema. */
export interface Migration {
  readonly number: number;
  readonly name: string;
  /** SHA-256 of its statements. */
  readonly checksum: string;
  readonly sql: string;
}

/** Every statement, by the name of its file. */
export const statements = {
${statements.join("\n")}
} as const;

/** All migrations, in their order. */
export const migrations: readonly Migration[] = [
${migrations.join("\n")}
];
`;
let before = "";
try {
  before = readFileSync(target, "utf8");
} catch {
  // Not made yet.
}
if (before !== text) writeFileSync(target, text);
