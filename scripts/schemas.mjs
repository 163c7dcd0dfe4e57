// Writes the JSON Schemas that editors check files with, as the build has them: of rules and of the
// service's configuration. `npm run schema`, after a change of the fields. Tests compare the files.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { toConfigSchema } from "../packages/server/dist/config/description/schema.js";
import { toJsonSchema } from "../packages/sluice/dist/rules/parse/json-schema.js";

write("sluice/rules.schema.json", toJsonSchema());
write("server/sluice.schema.json", toConfigSchema());

function write(path, schema) {
  const file = join(import.meta.dirname, "../packages", path);
  writeFileSync(file, `${JSON.stringify(schema, undefined, 2)}\n`);
}
