// How much a run measures: everything, or in quick mode (`npm run bench -- --quick`) every benchmark once with
// small sizes. Sizes are constants of the files that use them, so the mode has to be known when these are loaded:
// the processes of the parts get the same option as the command.

/** Whether this run is a quick one. */
export const isQuick = process.argv.includes("--quick");

/** `full`, or `quick` in quick mode. */
export function effort<T>({ full, quick }: { full: T; quick: T }): T {
  return isQuick ? quick : full;
}
