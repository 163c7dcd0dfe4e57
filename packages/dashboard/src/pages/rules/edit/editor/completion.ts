// Completion and documentation of fields, from the JSON Schema of rules.

import {
  autocompletion,
  type Completion,
  type CompletionContext,
  type CompletionResult,
} from "@codemirror/autocomplete";
import { syntaxTree } from "@codemirror/language";
import type { Extension } from "@codemirror/state";
import { hoverTooltip } from "@codemirror/view";
import { pathByIndent, pathOf } from "../schema/path-at.js";
import { describe, fieldsAt, isOpenAt, type SchemaPath, wordsAt } from "../schema/schema.js";

/** Completion of names and values, and what a field is for when it is pointed at. */
export const schemaHelp: Extension = [
  autocompletion({ override: [complete], icons: false }),
  hoverTooltip((view, pos) => {
    const text = view.state.doc.toString();
    const node = syntaxTree(view.state).resolveInner(pos, 1);
    if (node.name !== "Literal" && node.name !== "QuotedLiteral") return null;
    const said = describe(pathOf(text, node));
    if (said === "") return null;
    return { pos: node.from, end: node.to, above: true, create: () => ({ dom: toDocs(said) }) };
  }),
];

function complete(context: CompletionContext): CompletionResult | null {
  const word = context.matchBefore(/[\w.-]*/);
  const from = word?.from ?? context.pos;
  const line = context.state.doc.lineAt(context.pos);
  const before = line.text.slice(0, from - line.from);
  if (before.includes("#")) return null;
  const value = /([\w.-]+)"?:\s+"?$/.exec(before);
  if (!context.explicit && word?.text === "" && value === null) return null;
  const flow = flowPathAt(context);
  if (value !== null) {
    const parent = flow ?? pathByIndent(context.state.sliceDoc(0, line.from + value.index));
    return toResult(
      from,
      wordsAt([...parent, value[1]]).map((label) => ({ label, type: "enum" })),
    );
  }
  if (/:\s/.test(before.replace(/^[\s-]*/, "")) && flow === undefined) return null;
  const path = flow ?? pathByIndent(context.state.sliceDoc(0, from));
  return toResult(from, toFields(path));
}

/** Within braces the tree knows the path. */
function flowPathAt({ state, pos }: CompletionContext): SchemaPath | undefined {
  for (
    let node: ReturnType<typeof syntaxTree>["topNode"] | null = syntaxTree(state).resolveInner(
      pos,
      -1,
    );
    node !== null;
    node = node.parent
  ) {
    if (node.name === "FlowMapping") return pathOf(state.doc.toString(), node);
    if (node.name === "BlockMapping") return undefined;
  }
  return undefined;
}

function toFields(path: SchemaPath): readonly Completion[] {
  if (fieldsAt(path).length === 0 && isOpenAt(path)) return [];
  return fieldsAt(path).map(({ name, description, isRequired }) => ({
    label: name,
    type: "property",
    apply: `${name}: `,
    ...(isRequired && { detail: "required", boost: 1 }),
    ...(description !== "" && { info: description }),
  }));
}

function toResult(from: number, options: readonly Completion[]): CompletionResult | null {
  return options.length === 0 ? null : { from, options, validFor: /^[\w.-]*$/ };
}

function toDocs(said: string): HTMLElement {
  const dom = document.createElement("div");
  dom.className = "cm-hover-docs";
  dom.textContent = said;
  return dom;
}
