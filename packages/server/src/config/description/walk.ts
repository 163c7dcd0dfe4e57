// The description of the file as a tree that can be walked: for the variables of the environment, for the
// names that errors suggest, and for what may not be shown.

import type { Fields, Path, Shape } from "sluice/shapes";
import type { ConfigShape } from "./shapes.js";

/** A place in the description. */
export type DescriptionNode =
  | { readonly kind: "section"; readonly fields: Fields }
  | { readonly kind: "map"; readonly entry: Shape<unknown> }
  | { readonly kind: "list"; readonly entry: Shape<unknown> }
  | { readonly kind: "value"; readonly shape: ConfigShape<unknown> };

/** What a shape describes. */
export function toNode(shape: Shape<unknown>): DescriptionNode {
  const { fields, values, items } = shape;
  if (fields !== undefined) return { kind: "section", fields };
  if (values !== undefined) return { kind: "map", entry: values };
  if (items !== undefined) return { kind: "list", entry: items };
  return { kind: "value", shape: shape as ConfigShape<unknown> };
}

/** What the description has at a path; undefined if there is nothing. */
export function nodeAt(root: Shape<unknown>, path: Path): DescriptionNode | undefined {
  let node = toNode(root);
  for (const step of path) {
    const child = childOf(node, step);
    if (child === undefined) return undefined;
    node = toNode(child);
  }
  return node;
}

function childOf(node: DescriptionNode, step: string | number): Shape<unknown> | undefined {
  if (node.kind === "section") {
    const { fields } = node;
    return Object.hasOwn(fields, step) ? fields[step].shape : undefined;
  }
  return node.kind === "value" ? undefined : node.entry;
}
