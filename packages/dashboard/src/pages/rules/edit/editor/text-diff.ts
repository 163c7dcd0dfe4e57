// Two texts compared: side by side, or on a phone one below the other.

import { yaml } from "@codemirror/lang-yaml";
import { MergeView, unifiedMergeView } from "@codemirror/merge";
import { EditorState, type Extension } from "@codemirror/state";
import { EditorView, lineNumbers } from "@codemirror/view";
import { toShadowPlace } from "./shadow.js";
import { theme } from "./theme.js";

/** What is compared. */
export interface TextDiffOptions {
  readonly before: { readonly name: string; readonly text: string };
  readonly after: { readonly name: string; readonly text: string };
  /** Narrow pages have one column. */
  readonly isNarrow: boolean;
}

const COLLAPSED = { margin: 3, minSize: 6 };

/** Shows the difference in an element; returns what closes it. */
export function openTextDiff(host: HTMLElement, options: TextDiffOptions): () => void {
  const { before, after, isNarrow } = options;
  const { root, parent } = toShadowPlace(host);
  if (isNarrow) {
    const merged = unifiedMergeView({
      original: before.text,
      mergeControls: false,
      collapseUnchanged: COLLAPSED,
    });
    const extensions = [...toExtensions(after.name), merged];
    const state = EditorState.create({ doc: after.text, extensions });
    const view = new EditorView({ state, parent, root });
    return () => view.destroy();
  }
  const view = new MergeView({
    a: { doc: before.text, extensions: toExtensions(before.name) },
    b: { doc: after.text, extensions: toExtensions(after.name) },
    parent,
    root,
    collapseUnchanged: COLLAPSED,
  });
  return () => view.destroy();
}

function toExtensions(name: string): Extension[] {
  return [
    lineNumbers(),
    yaml(),
    theme,
    EditorView.lineWrapping,
    EditorState.readOnly.of(true),
    EditorView.editable.of(false),
    EditorView.contentAttributes.of({ "aria-label": name, tabindex: "0" }),
  ];
}
