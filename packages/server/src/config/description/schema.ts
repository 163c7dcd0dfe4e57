// The JSON Schema of a configuration file, for editors. It is made of the same description that reads
// files; packages/server/sluice.schema.json is a copy of it.

import { toJsonSchema as toRulesSchema } from "sluice/rules";
import type { JsonSchema } from "sluice/shapes";
import { fileSection } from "./file.js";

/**
 * The JSON Schema, draft 2020-12, of version 1. What it refuses `parseConfig` refuses too, except for
 * variables inside rules that are written in the file; what sections have to say together only that knows.
 */
export function toConfigSchema(): JsonSchema {
  const { properties, ...rest } = fileSection.schema as { properties: Record<string, JsonSchema> };
  const { rules, $defs } = toInlineRules(properties.rules);
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Configuration of Sluice",
    description: "What sluice serve reads: docs/reference/configuration.md describes each value.",
    ...rest,
    properties: { ...properties, rules },
    $defs,
  };
}

/** Rules may be part of the file, so their schema is part of the file's. */
function toInlineRules({ anyOf, ...rest }: JsonSchema): { rules: JsonSchema; $defs: unknown } {
  const { $schema: _, title: _title, $defs, ...inline } = toRulesSchema();
  const [named] = anyOf as readonly unknown[];
  return { rules: { ...rest, anyOf: [named, inline] }, $defs };
}
