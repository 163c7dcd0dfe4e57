// How long a page is held up: the processor time of the longest task of its main thread, out of the browser's own
// trace. Wall time, which a page can read itself, includes what other programs on the machine take.

import { sharedBrowser } from "./dashboard-fixture.js";

/** An event of a trace, as far as it is read here. */
interface TraceEvent {
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  /** Processor time, in microseconds. */
  readonly tdur?: number;
  readonly args?: { readonly name?: string };
}

/** Which name the main thread of a page has in a trace, and a task. */
const MAIN_THREAD = "CrRendererMain";
const TASK = "ThreadControllerImpl::RunTask";

/** The longest task of any open page while `act` runs, in milliseconds. One at a time: a browser writes one trace. */
export async function longestTaskMs(act: () => Promise<void>): Promise<number> {
  const browser = await sharedBrowser();
  await browser.startTracing(undefined, { categories: ["toplevel"] });
  let trace: Buffer;
  try {
    await act();
  } finally {
    trace = await browser.stopTracing();
  }
  const { traceEvents } = JSON.parse(trace.toString()) as { traceEvents: TraceEvent[] };
  const mainThreads = new Set(
    traceEvents
      .filter(({ name, args }) => name === "thread_name" && args?.name === MAIN_THREAD)
      .map(threadOf),
  );
  const tasks = traceEvents.filter(
    (event) => event.name === TASK && mainThreads.has(threadOf(event)),
  );
  if (tasks.length === 0) throw new Error(`the browser's trace has no ${TASK} of ${MAIN_THREAD}`);
  return tasks.reduce((longest, { tdur = 0 }) => Math.max(longest, tdur / 1_000), 0);
}

function threadOf({ pid, tid }: TraceEvent): string {
  return `${pid}/${tid}`;
}
