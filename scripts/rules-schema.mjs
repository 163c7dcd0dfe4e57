// Writes the JSON Schema of rule files, as the build has it, to packages/sluice/rules.schema.json:
// `npm run schema`, after a change of the fields. A test compares the two.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { toJsonSchema } from "../packages/sluice/dist/rules/schema.js";

const file = join(import.meta.dirname, "../packages/sluice/rules.schema.json");
writeFileSync(file, `${JSON.stringify(toJsonSchema(), undefined, 2)}\n`);
