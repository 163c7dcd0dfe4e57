// What a page shows instead of its content: while it loads, where there is nothing yet, and when something failed.

import type { ComponentChildren } from "preact";
import { ApiError } from "../../api/client.js";
import type { Answered } from "../../api/use-answer.js";
import { Button } from "../forms/button.js";

/** Nothing is there yet, and what to do about it. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      <div>{children}</div>
    </div>
  );
}

/** Something failed: what, and what to do. */
export function Problem({ error, action }: { error: Error; action?: ComponentChildren }) {
  const code = error instanceof ApiError ? error.code : "";
  return (
    <div class="failure" role="alert">
      <p>{capitalised(error.message)}</p>
      {code !== "" && <code>{code}</code>}
      {action}
    </div>
  );
}

/** Grey lines in the place of what is still loading, so that nothing jumps when it is there. */
export function Skeleton({ lines = 3 }: { lines?: number }) {
  return (
    <div class="skeleton" aria-busy="true" role="status" aria-label="Loading">
      {Array.from({ length: lines }, (_, line) => (
        <div key={line} />
      ))}
    </div>
  );
}

interface LoadedProps<T> {
  readonly answer: Answered<T>;
  readonly lines?: number;
  children(data: T): ComponentChildren;
}

/** The content once its answer is there; until then that it loads, or why it can't. */
export function Loaded<T>({ answer, lines, children }: LoadedProps<T>) {
  const { data, error } = answer;
  const retry = <Button onClick={() => void answer.reload()}>Try again</Button>;
  if (data === undefined)
    return error === undefined ? (
      <Skeleton lines={lines ?? 3} />
    ) : (
      <Problem error={error} action={retry} />
    );
  return (
    <>
      {error !== undefined && <Problem error={error} action={retry} />}
      {children(data)}
    </>
  );
}

function capitalised(sentence: string): string {
  return sentence.charAt(0).toUpperCase() + sentence.slice(1);
}
