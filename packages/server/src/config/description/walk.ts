// The description of the file as a tree that can be walked: for the variables of the environment, for the
// names that errors suggest, and for what may not be shown.

import type { z } from "zod";
import type { Path } from "../problems.js";
import { infoOf, type ShapeInfo } from "./shapes.js";

type Schema = z.core.$ZodType;

/** A place in the description. */
export type Node =
  | { readonly kind: "section"; readonly fields: Readonly<Record<string, Schema>> }
  | { readonly kind: "map"; readonly entry: Schema }
  | { readonly kind: "list"; readonly entry: Schema }
  | { readonly kind: "value"; readonly info: ShapeInfo };

/** What a schema describes, defaults and options taken off. */
export function toNode(schema: Schema): Node {
  const { def } = schema._zod as { def: z.core.$ZodTypes["_zod"]["def"] };
  switch (def.type) {
    case "optional":
    case "prefault":
      return toNode(def.innerType);
    case "object":
      return { kind: "section", fields: def.shape };
    case "record":
      return { kind: "map", entry: def.valueType };
    case "array":
      return { kind: "list", entry: def.element };
    default:
      return { kind: "value", info: infoOf(schema) };
  }
}

/** The schema at a path; undefined if there is none. */
export function schemaAt(root: Schema, path: Path): Schema | undefined {
  let schema: Schema | undefined = root;
  for (const step of path) {
    if (schema === undefined) return undefined;
    schema = childOf(toNode(schema), step);
  }
  return schema;
}

function childOf(node: Node, step: string | number): Schema | undefined {
  if (node.kind === "section") {
    const { fields } = node;
    return Object.hasOwn(fields, step) ? fields[step] : undefined;
  }
  return node.kind === "value" ? undefined : node.entry;
}
