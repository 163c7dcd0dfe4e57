// How the editor looks. The colours are those of the page: its custom properties hold in the shadow root too.

import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import type { Extension } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const look = EditorView.theme({
  "&": {
    color: "var(--text)",
    backgroundColor: "var(--card)",
    border: "1px solid var(--line)",
    borderRadius: "8px",
    fontSize: "14px",
    overflow: "hidden",
  },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "1px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55" },
  ".cm-content": { caretColor: "var(--text)", padding: "10px 0" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": {
    backgroundColor: "var(--sunk)",
    color: "var(--faint)",
    border: "none",
  },
  ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--accent) 6%, transparent)" },
  ".cm-activeLineGutter": { backgroundColor: "var(--accent-soft)", color: "var(--accent)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground":
    { background: "color-mix(in srgb, var(--accent) 25%, transparent)" },
  ".cm-tooltip": {
    backgroundColor: "var(--raised)",
    color: "var(--text)",
    border: "1px solid var(--line)",
    borderRadius: "8px",
    maxWidth: "460px",
    fontFamily: "var(--sans)",
  },
  ".cm-tooltip-autocomplete ul li[aria-selected]": {
    background: "var(--accent)",
    color: "var(--accent-text)",
  },
  ".cm-completionDetail": { color: "inherit", opacity: "0.8", fontStyle: "normal" },
  ".cm-tooltip.cm-completionInfo": { padding: "8px 12px" },
  ".cm-hover-docs": { padding: "8px 12px" },
  ".cm-diagnostic": { padding: "6px 12px" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--bad)" },
  ".cm-diagnostic-warning": { borderLeftColor: "var(--warn)" },
  ".cm-changedLine, &.cm-merge-b .cm-changedLine": {
    backgroundColor: "color-mix(in srgb, var(--good) 8%, transparent) !important",
  },
  "&.cm-merge-a .cm-changedLine, .cm-deletedChunk": {
    backgroundColor: "color-mix(in srgb, var(--bad) 8%, transparent) !important",
  },
  ".cm-collapsedLines": {
    background: "var(--sunk) !important",
    color: "var(--faint) !important",
  },
  ".cm-collapsedLines:before, .cm-collapsedLines:after": { content: '"" !important' },
});

const colours = HighlightStyle.define([
  { tag: [tags.definition(tags.propertyName), tags.propertyName], color: "var(--accent)" },
  {
    tag: [tags.string, tags.special(tags.string)],
    color: "color-mix(in srgb, var(--allowed) 65%, var(--text))",
  },
  { tag: [tags.number, tags.bool, tags.null, tags.keyword], color: "var(--shadowed)" },
  { tag: tags.comment, color: "var(--faint)", fontStyle: "italic" },
  { tag: [tags.punctuation, tags.separator, tags.bracket], color: "var(--faint)" },
]);

/** The look of every editor and comparison. */
export const theme: Extension = [look, syntaxHighlighting(colours)];
