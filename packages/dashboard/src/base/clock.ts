// Where pages take time and timers from, and nowhere else.

/** The wall clock of the browser, in milliseconds since 1970. */
export function wallMs(): number {
  return Date.now();
}

/** Runs `task` once, `delayMs` from now. Returns what stops it. */
export function after(delayMs: number, task: () => void): () => void {
  const timer = setTimeout(task, delayMs);
  return () => clearTimeout(timer);
}

/** Runs `task` every `everyMs`. Returns what stops it. */
export function every(everyMs: number, task: () => void): () => void {
  const timer = setInterval(task, everyMs);
  return () => clearInterval(timer);
}
