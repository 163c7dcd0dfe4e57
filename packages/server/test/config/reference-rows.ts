// The rows that the reference of the configuration has to have, out of the description of the file.

import { z } from "zod";
import { fileSection } from "../../src/config/description/file.js";
import { toNode } from "../../src/config/description/walk.js";
import { toVariable } from "../../src/config/variable-names.js";

type Schema = Parameters<typeof toNode>[0];
type Path = readonly (string | number)[];

/** The tables: what each section is called, and its rows. */
export function toTables(): ReadonlyMap<string, readonly string[]> {
  const sections = Object.entries(fileSection.shape).filter(([name]) => isTable(name));
  return new Map([
    ["The file", Object.entries(fileSection.shape).map(([name, field]) => toTopRow(name, field))],
    ...sections.map(([name, field]): [string, readonly string[]] => [name, toRows(field, [name])]),
  ]);
}

function isTable(name: string): boolean {
  return name !== "$schema" && name !== "version";
}

function toTopRow(name: string, field: Schema): string {
  const value = isTable(name) ? `[\`${name}\`](#${name})` : `\`${name}\``;
  return `| ${value} | ${toDefault(field)} | ${descriptionOf(field)} |`;
}

/** Rows of what is below a schema. `path` is the way to it, with NAME for the names of entries. */
function toRows(schema: Schema, path: Path): string[] {
  const node = toNode(schema);
  if (node.kind === "map") return toRows(node.entry, [...path, "NAME"]);
  if (node.kind === "list") return toRows(node.entry, [...path, 0]);
  const fields = node.kind === "section" ? node.fields : (node.info.fields ?? {});
  return Object.entries(fields).flatMap(([name, field]) => toFieldRows(field, [...path, name]));
}

function toFieldRows(field: Schema, path: Path): string[] {
  const cells = [
    `\`${path
      .slice(1)
      .filter((step) => typeof step === "string")
      .join(".")}\``,
    withoutStars(toType(field)),
    toDefault(field),
    toNode(field).kind === "section" ? "" : `\`${variableOf(path)}\``,
    withoutStars(descriptionOf(field)),
  ];
  const isList = toNode(field).kind === "list";
  return [`| ${cells.join(" | ")} |`, ...(isList ? [] : toRows(field, path))];
}

/** Text whose stars are stars, and not emphasis. */
function withoutStars(text: string): string {
  return text.replaceAll("*", "\\*");
}

/** Of what is in a list the variable of the list. */
function variableOf(path: Path): string {
  const list = path.indexOf(0);
  return toVariable(list < 0 ? path : path.slice(0, list));
}

function toType(schema: Schema): string {
  const node = toNode(schema);
  if (node.kind === "section") return "section";
  if (node.kind === "map") return "sections by name";
  if (node.kind === "list") return `list, ${boundsOf(schema)}: ${toType(node.entry)}`;
  return node.info.type;
}

function boundsOf(schema: Schema): string {
  const { minItems, maxItems } = jsonOf(schema);
  return `${minItems ?? 0} to ${maxItems}`;
}

function toDefault(schema: Schema): string {
  const { type } = schema._zod.def as { type: string };
  if (type === "optional") return "none";
  if (type !== "prefault") return "required";
  const value = jsonOf(schema).default;
  return `\`${typeof value === "string" ? value : JSON.stringify(value)}\``;
}

function descriptionOf(schema: Schema): string {
  return String(jsonOf(schema).description);
}

function jsonOf(schema: Schema): Record<string, unknown> {
  return z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
}
