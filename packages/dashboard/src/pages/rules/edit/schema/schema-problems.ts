// What the schema says of rules while they are typed: unknown fields, values that are not among the choices, missing
// fields, and what is not YAML. The service, asked next, says the rest.

import {
  fieldsOf,
  isList,
  isMapping,
  isScalar,
  itemsOf,
  rootIn,
  type SyntaxNode,
  scalarOf,
} from "../yaml/yaml-tree.js";
import {
  fieldsAt,
  isOnlyWordsAt,
  isOpenAt,
  type SchemaPath,
  schemasAt,
  wordsAt,
} from "./schema.js";

/** What is wrong, and where. */
export interface PlacedProblem {
  readonly from: number;
  readonly to: number;
  readonly message: string;
}

const PROBLEMS_MAX = 100;

/** The problems of rules, by their syntax tree. */
export function schemaProblems(text: string, stream: SyntaxNode): readonly PlacedProblem[] {
  const problems: PlacedProblem[] = [];
  const broken = firstBroken(stream);
  if (broken !== undefined)
    problems.push({
      ...broken,
      message: "This is not YAML: check quotes, brackets and indentation.",
    });
  const root = rootIn(stream);
  if (root !== undefined) check(text, root, [], problems);
  return problems.slice(0, PROBLEMS_MAX);
}

function check(text: string, node: SyntaxNode, path: SchemaPath, problems: PlacedProblem[]): void {
  if (problems.length >= PROBLEMS_MAX || schemasAt(path).length === 0) return;
  if (isList(node)) for (const item of itemsOf(node)) check(text, item, [...path, null], problems);
  if (isMapping(node)) checkFields(text, node, path, problems);
  if (isScalar(node)) checkWord(text, node, path, problems);
}

function checkFields(
  text: string,
  node: SyntaxNode,
  path: SchemaPath,
  problems: PlacedProblem[],
): void {
  const known = fieldsAt(path);
  const isOpen = isOpenAt(path);
  const fields = fieldsOf(text, node);
  for (const { name, key, value } of fields) {
    if (!isOpen && known.length > 0 && !known.some((each) => each.name === name)) {
      const names = known.map((each) => each.name).join(", ");
      problems.push({
        from: key.from,
        to: key.to,
        message: `Unknown field "${name}". Known: ${names}.`,
      });
    } else if (value !== undefined) check(text, value, [...path, name], problems);
  }
  // Where an object may be one of several, each has other fields that are required.
  if (schemasAt(path).filter(({ type }) => type === "object").length > 1) return;
  const missing = known.filter(
    (each) => each.isRequired && !fields.some(({ name }) => name === each.name),
  );
  const [first] = fields;
  if (missing.length > 0 && first !== undefined) {
    const names = missing.map(({ name }) => `"${name}"`).join(", ");
    problems.push({ from: first.key.from, to: first.key.to, message: `Missing: ${names}.` });
  }
}

function checkWord(
  text: string,
  node: SyntaxNode,
  path: SchemaPath,
  problems: PlacedProblem[],
): void {
  if (!isOnlyWordsAt(path)) return;
  const words = wordsAt(path);
  const word = scalarOf(text, node);
  if (words.includes(word)) return;
  const message = `Must be ${words.length === 1 ? "" : "one of "}${words.join(", ")}.`;
  problems.push({ from: node.from, to: node.to, message });
}

function firstBroken(stream: SyntaxNode): { from: number; to: number } | undefined {
  const cursor = stream.cursor();
  do {
    if (cursor.type.isError) return { from: cursor.from, to: Math.max(cursor.to, cursor.from) };
  } while (cursor.next());
  return undefined;
}
