// The rows that the reference of the configuration has to have, out of the description of the file.

import type { Field, Shape } from "sluice/shapes";
import { fileSection } from "../../src/config/description/file.js";
import { toNode } from "../../src/config/description/walk.js";
import { toVariable } from "../../src/config/environment/variable-names.js";

type Path = readonly (string | number)[];

/** The tables: what each section is called, and its rows. */
export function toTables(): ReadonlyMap<string, readonly string[]> {
  const sections = Object.entries(fileSection.fields).filter(([name]) => isTable(name));
  return new Map([
    ["The file", Object.entries(fileSection.fields).map(([name, field]) => toTopRow(name, field))],
    ...sections.map(([name, field]): [string, readonly string[]] => [
      name,
      toRows(field.shape, [name]),
    ]),
  ]);
}

function isTable(name: string): boolean {
  return name !== "$schema" && name !== "version";
}

function toTopRow(name: string, field: Field<unknown>): string {
  const value = isTable(name) ? `[\`${name}\`](#${name})` : `\`${name}\``;
  return `| ${value} | ${toDefault(field)} | ${field.about} |`;
}

/** Rows of what is below a schema. `path` is the way to it, with NAME for the names of entries. */
function toRows(shape: Shape<unknown>, path: Path): string[] {
  const node = toNode(shape);
  if (node.kind === "map") return toRows(node.entry, [...path, "NAME"]);
  if (node.kind === "list") return toRows(node.entry, [...path, 0]);
  const fields = node.kind === "section" ? node.fields : (node.shape.parts ?? {});
  return Object.entries(fields).flatMap(([name, field]) => toFieldRows(field, [...path, name]));
}

function toFieldRows(field: Field<unknown>, path: Path): string[] {
  const cells = [
    `\`${path
      .slice(1)
      .filter((step) => typeof step === "string")
      .join(".")}\``,
    withoutStars(toType(field.shape)),
    toDefault(field),
    toNode(field.shape).kind === "section" ? "" : `\`${variableOf(path)}\``,
    withoutStars(field.about),
  ];
  const isList = toNode(field.shape).kind === "list";
  return [`| ${cells.join(" | ")} |`, ...(isList ? [] : toRows(field.shape, path))];
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

function toType(shape: Shape<unknown>): string {
  const node = toNode(shape);
  if (node.kind === "section") return "section";
  if (node.kind === "map") return "sections by name";
  if (node.kind === "list") return `list, ${boundsOf(shape)}: ${toType(node.entry)}`;
  return node.shape.type;
}

function boundsOf({ schema: { minItems, maxItems } }: Shape<unknown>): string {
  return `${minItems} to ${maxItems}`;
}

function toDefault({ isRequired, byDefault }: Field<unknown>): string {
  if (isRequired) return "required";
  if (byDefault === undefined) return "none";
  return `\`${typeof byDefault === "string" ? byDefault : JSON.stringify(byDefault)}\``;
}
