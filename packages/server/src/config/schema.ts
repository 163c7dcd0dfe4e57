// The JSON Schema of a configuration file, for editors. It is made of the same description that reads
// files; packages/server/sluice.schema.json is a copy of it.

import { z } from "zod";
import { fileSection } from "./description/file.js";

/** A JSON Schema. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/**
 * The JSON Schema, draft 2020-12, of version 1. What it refuses {@link parseConfig} refuses too; what
 * sections have to say together only that knows.
 */
export function toConfigSchema(): JsonSchema {
  const { $schema, ...rest } = z.toJSONSchema(fileSection, {
    io: "input",
    target: "draft-2020-12",
    unrepresentable: "any",
    reused: "inline",
  });
  return {
    $schema,
    title: "Configuration of Sluice",
    description: "What sluice serve reads: docs/reference/configuration.md describes each value.",
    ...rest,
  };
}
