// The editor with the list of what is wrong below it.

import { useEffect, useRef, useState } from "preact/hooks";
import { useSession } from "../../../api/session.js";
import { type EditorProblem, openRulesEditor, type RulesEditor } from "./editor/rules-editor.js";

interface EditorBoxProps {
  /** What it starts with; a change of it is not followed. */
  readonly text: string;
  /** Where the cursor starts. Default: at the beginning, without the focus. */
  readonly line: number | undefined;
  readonly isReadOnly: boolean;
  onChange(text: string): void;
  onSave(): void;
}

type Checked = readonly EditorProblem[] | "checking" | "failed";

/** Problems that are listed. */
const LISTED_MAX = 20;

/** The editor. */
export function EditorBox(props: EditorBoxProps) {
  const host = useRef<HTMLDivElement>(null);
  const editor = useRef<RulesEditor | undefined>(undefined);
  const latest = useRef(props);
  latest.current = props;
  const [checked, setChecked] = useState<Checked>("checking");
  const session = useSession();
  useEffect(() => {
    if (host.current === null) return;
    editor.current = openRulesEditor(host.current, {
      text: props.text,
      isReadOnly: props.isReadOnly,
      onChange: (text) => latest.current.onChange(text),
      onChecked: (problems) => setChecked(problems ?? "failed"),
      onSave: () => latest.current.onSave(),
    });
    if (props.line !== undefined) editor.current.goTo(props.line);
    return () => editor.current?.close();
  }, []);
  // What was typed while the session had ended is not checked yet.
  const author = useRef(session);
  useEffect(() => {
    if (author.current !== session) editor.current?.check();
    author.current = session;
  }, [session]);
  const problems = typeof checked === "string" ? [] : checked;
  return (
    <>
      <div class="rules-editor" ref={host} />
      <div class="rules-problems">
        <p role="status">{sayChecked(checked)}</p>
        <ul>
          {problems.slice(0, LISTED_MAX).map(({ line, message }) => (
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

function sayChecked(checked: Checked): string {
  if (checked === "checking") return "Checking…";
  if (checked === "failed") return "Not checked: the service does not answer.";
  if (checked.length === 0) return "No problems found.";
  return checked.length === 1 ? "1 problem" : `${checked.length} problems`;
}
