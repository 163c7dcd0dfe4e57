// The editor of rules: CodeMirror, with completion and documentation from the JSON Schema, and with what the schema and
// the service say is wrong, at its line.

import { closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, ensureSyntaxTree, indentOnInput } from "@codemirror/language";
import { type Diagnostic, forceLinting, linter, lintGutter, lintKeymap } from "@codemirror/lint";
import { EditorState, StateEffect, type Text } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { ask, type RuleProblem } from "../../../../api/client.js";
import { schemaProblems } from "../schema/schema-problems.js";
import { schemaHelp } from "./completion.js";
import { toShadowPlace } from "./shadow.js";
import { theme } from "./theme.js";

/** What is wrong, by line. */
export interface EditorProblem {
  /** From 1; undefined if it is about the whole. */
  readonly line: number | undefined;
  readonly message: string;
}

/** What an editor reports. */
export interface RulesEditorOptions {
  readonly text: string;
  readonly isReadOnly: boolean;
  /** After every change. */
  onChange(text: string): void;
  /** After a check: what is wrong, or undefined if the service did not answer. */
  onChecked(problems: readonly EditorProblem[] | undefined): void;
  /** Control-S. */
  onSave(): void;
}

/** An open editor. */
export interface RulesEditor {
  /** Puts the cursor on a line, and shows it. */
  goTo(line: number): void;
  /** Checks the rules now. */
  check(): void;
  close(): void;
}

const CHECK_DELAY_MS = 350;
const PARSE_MS_MAX = 50;
/** Longer rules are checked by the service alone. */
const SCHEMA_LENGTH_MAX = 200_000;

/** How long after Escape a Tab leaves the editor. CodeMirror's own two seconds are too short for some users. */
const LEAVE_MS_MAX = 60_000;

const checkAgain = StateEffect.define<null>();

/** Opens an editor in an element. */
export function openRulesEditor(host: HTMLElement, options: RulesEditorOptions): RulesEditor {
  const { root, parent } = toShadowPlace(host);
  const view = new EditorView({ state: toState(options), parent, root });
  return {
    goTo: (number) => {
      const line = view.state.doc.line(Math.min(Math.max(1, number), view.state.doc.lines));
      view.dispatch({ selection: { anchor: line.from }, scrollIntoView: true });
      view.focus();
    },
    check: () => {
      // The linter runs only after a change.
      view.dispatch({ effects: checkAgain.of(null) });
      forceLinting(view);
    },
    close: () => view.destroy(),
  };
}

function toState(options: RulesEditorOptions): EditorState {
  const save = () => {
    options.onSave();
    return true;
  };
  return EditorState.create({
    doc: options.text,
    extensions: [
      lineNumbers(),
      highlightActiveLineGutter(),
      highlightActiveLine(),
      history(),
      drawSelection(),
      indentOnInput(),
      bracketMatching(),
      closeBrackets(),
      yaml(),
      theme,
      schemaHelp,
      lintGutter(),
      linter((view) => check(view, options), {
        delay: CHECK_DELAY_MS,
        needsRefresh: ({ transactions }) =>
          transactions.some(({ effects }) => effects.some((effect) => effect.is(checkAgain))),
      }),
      EditorView.lineWrapping,
      EditorState.readOnly.of(options.isReadOnly),
      EditorView.domEventHandlers({ beforeinput: replaceLines }),
      EditorView.contentAttributes.of({
        "aria-label": "Rules",
        "aria-description": "Press Escape and then Tab to leave the editor.",
      }),
      EditorView.updateListener.of(({ docChanged, state }) => {
        if (docChanged) options.onChange(state.doc.toString());
      }),
      keymap.of([
        { key: "Mod-s", preventDefault: true, run: save },
        ...closeBracketsKeymap,
        ...defaultKeymap,
        ...historyKeymap,
        ...completionKeymap,
        ...lintKeymap,
        { key: "Escape", run: leaveByTab },
        indentWithTab,
      ]),
    ],
  });
}

/** Lets the next key leave the editor, if it is Tab. */
function leaveByTab(view: EditorView): boolean {
  view.setTabFocusMode(LEAVE_MS_MAX);
  return true;
}

/**
 * Text that replaces several lines is put in place here: browsers would merge the lines by style attributes, which the
 * page's Content-Security-Policy refuses.
 */
function replaceLines({ inputType, data }: InputEvent, view: EditorView): boolean {
  const { doc, selection, readOnly } = view.state;
  const { from, to } = selection.main;
  const isOneLine = doc.lineAt(from).to >= to;
  if (inputType !== "insertText" || data === null || isOneLine || readOnly) return false;
  view.dispatch(view.state.replaceSelection(data), {
    userEvent: "input.type",
    scrollIntoView: true,
  });
  return true;
}

/** The problems that the service finds, and those of the schema on other lines. */
async function check(view: EditorView, options: RulesEditorOptions): Promise<Diagnostic[]> {
  const { doc } = view.state;
  const text = doc.toString();
  const tree =
    text.length > SCHEMA_LENGTH_MAX ? null : ensureSyntaxTree(view.state, doc.length, PARSE_MS_MAX);
  const bySchema = tree === null ? [] : schemaProblems(text, tree.topNode);
  const byService = await askService(text);
  const diagnostics = (byService ?? []).map((problem) => toDiagnostic(doc, problem));
  const lines = new Set(diagnostics.map(({ from }) => doc.lineAt(from).number));
  for (const { from, to, message } of bySchema)
    if (!lines.has(doc.lineAt(from).number))
      diagnostics.push({ from, to, message, severity: "error", source: "schema" });
  diagnostics.sort((a, b) => a.from - b.from);
  if (view.state.doc === doc)
    options.onChecked(
      byService &&
        diagnostics.map(({ from, message }) => ({ line: doc.lineAt(from).number, message })),
    );
  return diagnostics;
}

/** Undefined if the service does not answer: a draft can be saved regardless, and publishing checks again. */
async function askService(text: string): Promise<readonly RuleProblem[] | undefined> {
  try {
    const body = { text };
    const answer = await ask("validation", "/v1/rule-sets/validate", { method: "POST", body });
    return answer.problems as readonly RuleProblem[];
  } catch {
    return undefined;
  }
}

/** The word at the column; on a line without braces, all that it says. */
function toDiagnostic(doc: Text, { message, line, column }: RuleProblem): Diagnostic {
  const { from: start, text } = doc.line(Math.min(Math.max(1, line ?? 1), doc.lines));
  const [indent = ""] = /^[\s-]*/.exec(text) ?? [];
  const at = /[{[]/.test(text) ? Math.min(text.length, (column ?? 1) - 1) : indent.length;
  const said = /[{[]/.test(text) ? /^[\w."'/-]+/ : /^[^#]*[^#\s]/;
  const length = said.exec(text.slice(at))?.[0].length ?? 0;
  const from = start + (length > 0 ? at : 0);
  const to = start + (length > 0 ? at + length : text.length);
  return { from, to, message, severity: "error", source: "service" };
}
