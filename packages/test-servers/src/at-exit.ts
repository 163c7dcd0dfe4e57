// What is left to do when this process ends, whatever way it does. Only SIGKILL leaves it no last word.

/** As many as the tests have servers and folders at the same time. */
const tasks = new Set<() => void>();
let watching = false;

/** Runs a task when this process ends, the latest first; returns what takes it back. */
export function atExit(task: () => void): () => void {
  tasks.add(task);
  watchExit();
  return () => void tasks.delete(task);
}

function watchExit(): void {
  if (watching) return;
  watching = true;
  process.once("exit", endAll);
  // A signal ends a process without its exit event, unless there is a listener for the signal.
  for (const name of ["SIGTERM", "SIGINT", "SIGHUP"] as const)
    process.once(name, () => {
      endAll();
      if (process.listenerCount(name) === 0) process.kill(process.pid, name);
    });
}

function endAll(): void {
  for (const task of [...tasks].reverse()) task();
}
