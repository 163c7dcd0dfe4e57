// Sets one field of one rule in rules as they were written: everything else, comments included, stays as it is.

import {
  type Field,
  fieldsOf,
  isList,
  isMapping,
  itemsOf,
  rootOf,
  type SyntaxNode,
  scalarOf,
} from "./yaml-tree.js";

/** What a rule is to say. */
export type RuleEdit =
  | { readonly field: "onExceed"; readonly value: "shadow" | "reject" }
  | { readonly field: "rollout"; readonly value: number };

/** The rules with that field; undefined if the rule is not found, or its id is written in an unusual way. */
export function setField(text: string, rule: string, edit: RuleEdit): string | undefined {
  const found = findRule(text, rule);
  if (found === undefined) return undefined;
  const { mapping, id } = found;
  const isJson = text[id.key.from] === '"';
  const value = typeof edit.value === "string" && isJson ? `"${edit.value}"` : String(edit.value);
  const before = fieldsOf(text, mapping).find(({ name }) => name === edit.field);
  if (before?.value !== undefined) return replace(text, before.value.from, before.value.to, value);
  if (before !== undefined) return undefined;
  const lineStart = text.lastIndexOf("\n", id.key.from - 1) + 1;
  const beforeId = text.slice(lineStart, id.key.from);
  if (mapping.name === "FlowMapping") {
    const name = isJson ? `"${edit.field}"` : edit.field;
    const gap = beforeId.trim() === "" && lineStart > mapping.from ? `\n${beforeId}` : " ";
    return replace(text, id.pair.to, id.pair.to, `,${gap}${name}: ${value}`);
  }
  const newline = text.indexOf("\n", id.pair.to);
  const lineEnd = newline === -1 ? text.length : newline;
  const indent = " ".repeat(beforeId.length);
  return replace(text, lineEnd, lineEnd, `\n${indent}${edit.field}: ${value}`);
}

/** A rule in rules as they were written. */
export function findRule(
  text: string,
  rule: string,
): { readonly mapping: SyntaxNode; readonly id: Field } | undefined {
  const root = rootOf(text);
  if (root === undefined || !isMapping(root)) return undefined;
  const list = fieldsOf(text, root).find(({ name }) => name === "rules")?.value;
  if (list === undefined || !isList(list)) return undefined;
  for (const mapping of itemsOf(list)) {
    const id = fieldsOf(text, mapping).find(({ name }) => name === "id");
    if (id?.value !== undefined && scalarOf(text, id.value) === rule) return { mapping, id };
  }
  return undefined;
}

function replace(text: string, from: number, to: number, by: string): string {
  return text.slice(0, from) + by + text.slice(to);
}
