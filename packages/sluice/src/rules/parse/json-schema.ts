// The JSON Schema of a file of rules, for editors. It is made of the same description that reads files;
// `npm run schema` writes it to rules.schema.json.

import type { JsonSchema } from "../../base/shapes/shapes.js";
import { fileFields } from "./file-fields.js";
import { limitDefinition, limitsDefinition } from "./rule-fields/limit.js";

export type { JsonSchema } from "../../base/shapes/shapes.js";

/**
 * The JSON Schema, draft 2020-12, of schema version 1. What it refuses `parseRules` refuses too; what
 * fields have to say together only `parseRules` knows.
 */
export function toJsonSchema(): JsonSchema {
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Rules of Sluice",
    description: "Which requests are counted by which key under which limit.",
    ...fileFields.schema,
    $defs: { limit: limitDefinition, limits: limitsDefinition },
  };
}
