// The editor with the list of what is wrong below it.

import { useEffect, useRef, useState } from "preact/hooks";
import { type EditorProblem, openRulesEditor, type RulesEditor } from "./editor/rules-editor.js";

interface EditorBoxProps {
  /** What it starts with; a change of it is not followed. */
  readonly text: string;
  readonly isReadOnly: boolean;
  onChange(text: string): void;
  onSave(): void;
}

/** Problems that are listed. */
const LISTED_MAX = 20;

/** The editor. */
export function EditorBox(props: EditorBoxProps) {
  const host = useRef<HTMLDivElement>(null);
  const editor = useRef<RulesEditor | undefined>(undefined);
  const latest = useRef(props);
  latest.current = props;
  const [problems, setProblems] = useState<readonly EditorProblem[]>();
  useEffect(() => {
    if (host.current === null) return;
    editor.current = openRulesEditor(host.current, {
      text: props.text,
      isReadOnly: props.isReadOnly,
      onChange: (text) => latest.current.onChange(text),
      onChecked: setProblems,
      onSave: () => latest.current.onSave(),
    });
    return () => editor.current?.close();
  }, []);
  return (
    <>
      <div class="rules-editor" ref={host} />
      <div class="rules-problems">
        <p role="status">{sayProblems(problems)}</p>
        <ul>
          {problems?.slice(0, LISTED_MAX).map(({ line, message }) => (
            <li key={`${line} ${message}`}>
              <button
                type="button"
                class="rules-problem"
                onClick={() => editor.current?.goTo(line ?? 1)}
              >
                <b>Line {line ?? 1}</b> {message}
              </button>
            </li>
          ))}
        </ul>
        <p class="hint">
          <kbd>Ctrl Space</kbd> completes, <kbd>Ctrl S</kbd> saves, <kbd>Escape</kbd> and then{" "}
          <kbd>Tab</kbd> leaves the editor.
        </p>
      </div>
    </>
  );
}

function sayProblems(problems: readonly EditorProblem[] | undefined): string {
  if (problems === undefined) return "Checking…";
  if (problems.length === 0) return "No problems found.";
  return problems.length === 1 ? "1 problem" : `${problems.length} problems`;
}
