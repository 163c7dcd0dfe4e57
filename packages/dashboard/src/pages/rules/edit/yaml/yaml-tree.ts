// The syntax tree of rules: mappings, lists and scalars, with their places. It is the editor's own tree, made while
// typing, so it is there for rules that are wrong too. JSON is read in the same way.

import { yamlLanguage } from "@codemirror/lang-yaml";

/** A node of the tree. */
export type SyntaxNode = ReturnType<typeof yamlLanguage.parser.parse>["topNode"];

/** A field of a mapping. */
export interface Field {
  readonly name: string;
  readonly key: SyntaxNode;
  /** Undefined while nothing is written. */
  readonly value: SyntaxNode | undefined;
  readonly pair: SyntaxNode;
}

const MAPPINGS = new Set(["BlockMapping", "FlowMapping"]);
const LISTS = new Set(["BlockSequence", "FlowSequence"]);
const SCALARS = new Set(["Literal", "QuotedLiteral", "BlockLiteral"]);

/** The value at the top of rules; undefined if there is none. */
export function rootOf(text: string): SyntaxNode | undefined {
  return rootIn(yamlLanguage.parser.parse(text).topNode);
}

/** The same, of a tree. */
export function rootIn(stream: SyntaxNode): SyntaxNode | undefined {
  const found = stream.getChild("Document");
  return found === null ? undefined : valueIn(found);
}

/** Whether it has fields. */
export function isMapping(node: SyntaxNode): boolean {
  return MAPPINGS.has(node.name);
}

/** Whether it has items. */
export function isList(node: SyntaxNode): boolean {
  return LISTS.has(node.name);
}

/** Whether it is a string, a number, true, false or null. */
export function isScalar(node: SyntaxNode): boolean {
  return SCALARS.has(node.name);
}

/** The fields of a mapping, in their order. */
export function fieldsOf(text: string, mapping: SyntaxNode): readonly Field[] {
  return mapping.getChildren("Pair").flatMap((pair) => {
    const key = pair.getChild("Key");
    if (key === null) return [];
    const name = scalarOf(text, key.firstChild ?? key);
    return [{ name, key, value: valueIn(pair), pair }];
  });
}

/** The items of a list, in their order. */
export function itemsOf(list: SyntaxNode): readonly SyntaxNode[] {
  return list.getChildren("Item").flatMap((item) => valueIn(item) ?? []);
}

/** A scalar without its quotes. */
export function scalarOf(text: string, { from, to, name }: SyntaxNode): string {
  const written = text.slice(from, to);
  if (name !== "QuotedLiteral") return written.trim();
  if (written.startsWith("'")) return written.slice(1, -1).replaceAll("''", "'");
  try {
    return String(JSON.parse(written));
  } catch {
    return written.slice(1, -1);
  }
}

function valueIn(parent: SyntaxNode): SyntaxNode | undefined {
  for (let child = parent.lastChild; child !== null; child = child.prevSibling) {
    if (isMapping(child) || isList(child) || isScalar(child)) return child;
    if (child.name === "Tagged" || child.name === "Anchored") return valueIn(child);
  }
  return undefined;
}
