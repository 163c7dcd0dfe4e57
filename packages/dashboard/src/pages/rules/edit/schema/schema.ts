// The JSON Schema of rules, asked by path: which fields may stand at a place, which values, and what they are for.

import written from "sluice/rules.schema.json?raw";

/** The part of JSON Schema that the rules use. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly pattern?: string;
  readonly $defs?: Readonly<Record<string, Schema>>;
}

/** From the top down: names of fields, and `null` for an item of a list. */
export type SchemaPath = readonly (string | null)[];

/** A field that may stand somewhere. */
export interface KnownField {
  readonly name: string;
  readonly description: string;
  readonly isRequired: boolean;
  readonly schema: Schema;
}

const DEPTH_MAX = 12;
const root = JSON.parse(written) as Schema;

/** Everything that a value at this place may be; empty if nothing is known of it. */
export function schemasAt(path: SchemaPath): readonly Schema[] {
  let found = expand(root);
  for (const step of path) found = found.flatMap((schema) => expand(childOf(schema, step)));
  return found;
}

/** The fields that an object at this place may have. */
export function fieldsAt(path: SchemaPath): readonly KnownField[] {
  const fields = new Map<string, KnownField>();
  for (const { properties = {}, required = [] } of schemasAt(path)) {
    for (const [name, schema] of Object.entries(properties)) {
      if (fields.has(name)) continue;
      const description = schema.description ?? "";
      fields.set(name, { name, description, isRequired: required.includes(name), schema });
    }
  }
  return [...fields.values()];
}

/** Whether an object at this place may have fields of other names. */
export function isOpenAt(path: SchemaPath): boolean {
  const objects = schemasAt(path).filter(({ type }) => type === "object");
  return objects.length === 0 || objects.some((each) => each.additionalProperties !== false);
}

/** The words that a value at this place may be, such as `reject`; empty if it may be anything. */
export function wordsAt(path: SchemaPath): readonly string[] {
  const words = schemasAt(path).flatMap((schema) => {
    if (schema.enum !== undefined) return schema.enum.map(String);
    if (schema.const !== undefined) return [String(schema.const)];
    return schema.type === "boolean" ? ["true", "false"] : [];
  });
  return [...new Set(words)];
}

/** Whether a value at this place has to be one of {@link wordsAt}. */
export function isOnlyWordsAt(path: SchemaPath): boolean {
  const schemas = schemasAt(path);
  return (
    schemas.length > 0 &&
    schemas.every((schema) => schema.enum !== undefined || schema.const !== undefined)
  );
}

/** What a field is for; empty if nothing is known of it. */
export function describe(path: SchemaPath): string {
  const name = path.at(-1);
  const parents = schemasAt(path.slice(0, -1));
  for (const { properties } of parents) {
    const schema = typeof name === "string" ? properties?.[name] : undefined;
    if (schema !== undefined) return sayField(schema);
  }
  return "";
}

function sayField(schema: Schema): string {
  const { description = "", default: value } = schema;
  const standard = value === undefined ? "" : ` Default: ${JSON.stringify(value)}.`;
  const words = expand(schema).flatMap((each) => each.enum?.map(String) ?? []);
  const choice = words.length === 0 ? "" : ` One of ${words.join(", ")}.`;
  return `${description}${choice}${standard}`.trim();
}

function childOf({ properties, additionalProperties, items }: Schema, step: string | null) {
  if (step === null) return items;
  const known = properties?.[step];
  if (known !== undefined) return known;
  return typeof additionalProperties === "object" ? additionalProperties : undefined;
}

/** A schema, and what it refers to and may be. */
function expand(schema: Schema | undefined, depth = 0): readonly Schema[] {
  if (schema === undefined || depth > DEPTH_MAX) return [];
  const { $ref, anyOf = [], oneOf = [] } = schema;
  const name = $ref?.slice("#/$defs/".length);
  const referred = name === undefined ? [] : expand(root.$defs?.[name], depth + 1);
  const chosen = [...anyOf, ...oneOf].flatMap((each) => expand(each, depth + 1));
  const isOwn = $ref === undefined && anyOf.length + oneOf.length === 0;
  return [...(isOwn || schema.properties !== undefined ? [schema] : []), ...referred, ...chosen];
}
