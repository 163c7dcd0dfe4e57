// Reads long rules in threads of their own: a megabyte takes seconds, in which decisions would wait. One thread reads
// what is to come into force, the other what is only looked at, so that no publish waits for a preview. A thread is
// started when it is needed, has bounds of time and memory, and ends when it has had nothing to do for a while.

import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { type Rule, type RuleSet, RulesError, toCidrList } from "sluice/rules";
import { formatDuration } from "sluice/shapes";
import { after, type CancelTimer } from "../../base/clock.js";
import { ServerError } from "../../base/errors.js";
import type { Replayings, ReplayJob } from "../replay/replay-both.js";
import {
  type FailedJob,
  type NextRules,
  type ReadAnswer,
  type ReadJob,
  type ReadRules,
  RULES_A_MESSAGE,
  type ThreadJob,
} from "./read-job.js";

const THREAD = fileURLToPath(new URL("./rules-thread.js", import.meta.url));
/** False where the sources were not built: rules are then read where they are needed. */
const hasThread = existsSync(THREAD);

/** From how many characters on rules are read in a thread: starting one takes longer than to read fewer. */
const THREAD_LENGTH_MIN = 16_384;
const JOBS_MAX = 16;
const JOB_MS_MAX = 60_000;
const IDLE_MS_MAX = 10_000;
const MEMORY_MB_MAX = 1_024;

type FinalAnswer = Exclude<ReadAnswer, { next: unknown }>;

interface Waiting {
  readonly job: ThreadJob;
  /** What has been taken over so far. */
  readonly rules: Rule[];
  /** What the rules belong to; undefined until they were read. */
  read?: ReadRules;
  readonly resolve: (answer: FinalAnswer & { rules: Rule[] }) => void;
  readonly reject: (error: unknown) => void;
}

/** Whether rules are long enough to be read in a thread. */
export function isForThread(text: string): boolean {
  return hasThread && text.length >= THREAD_LENGTH_MIN;
}

/** What comes of reading rules. */
export interface ReadResult {
  readonly version: string;
  /** Undefined if only the version was asked for. */
  readonly rules: RuleSet | undefined;
  /** The ids of those that say their `consistency`. */
  readonly withConsistency: readonly string[];
}

/**
 * Reads rules in a thread, one set after the other. Those that are to come into force don't wait for those that are
 * only looked at.
 *
 * @throws RulesError as `parseRules` does, what makes them unusable, `SLUICE_BODY_TOO_LARGE` if they take too long or too
 *   much memory, or `SLUICE_RULES_BUSY` if too many wait.
 */
export async function readInThread(job: ReadJob): Promise<ReadResult> {
  const answer = await (job.purpose === "enforce" ? publisher : previewer).ask(job);
  if ("failed" in answer) throw toError(answer.failed, job.file);
  if ("replayed" in answer) throw new Error("the thread answered something else");
  const { version, set, rules, withConsistency } = answer;
  return { version, rules: set && restore({ ...set, rules }), withConsistency };
}

/** Decides samples by long rules, in a thread. @throws What {@link readInThread} throws. */
export async function replayInThread(job: ReplayJob): Promise<Replayings> {
  const answer = await previewer.ask(job);
  if ("failed" in answer) throw toError(answer.failed, job.draft.file);
  if (!("replayed" in answer)) throw new Error("the thread answered something else");
  return answer.replayed;
}

/** Asks one thread. */
class ThreadReader {
  readonly #waiting: Waiting[] = [];
  #thread: Worker | undefined;
  /** The one that the thread has. */
  #current: Waiting | undefined;
  #cancel: CancelTimer = () => {};

  ask(job: ThreadJob): Promise<FinalAnswer & { rules: Rule[] }> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.length >= JOBS_MAX) {
        reject(new ServerError("SLUICE_RULES_BUSY", `${JOBS_MAX} wait; try again in a moment`));
        return;
      }
      this.#waiting.push({ job, rules: [], resolve, reject });
      this.#next();
    });
  }

  #next(): void {
    if (this.#current !== undefined) return;
    this.#cancel();
    this.#current = this.#waiting.shift();
    if (this.#current === undefined) {
      this.#cancel = after(IDLE_MS_MAX, () => this.#end());
      return;
    }
    this.#thread ??= this.#start();
    this.#thread.ref();
    this.#thread.postMessage(this.#current.job);
    this.#cancel = after(JOB_MS_MAX, () => this.#fail(`over ${formatDuration(JOB_MS_MAX)}`));
  }

  #start(): Worker {
    const limits = { maxOldGenerationSizeMb: MEMORY_MB_MAX };
    const thread = new Worker(THREAD, { resourceLimits: limits, stdout: true, stderr: true });
    thread.on("message", (answer: ReadAnswer) => {
      // It was ended, and the job that it answers has failed: the present job is another.
      if (thread !== this.#thread) return;
      const whole = this.#toWhole(answer);
      if (whole === undefined) return this.#askForRules(thread);
      // Only a thread at work keeps the process alive.
      thread.unref();
      this.#settle()?.resolve(whole);
      this.#next();
    });
    thread.on("error", (error: NodeJS.ErrnoException) => {
      if (thread !== this.#thread) return;
      const isMemory = error.code === "ERR_WORKER_OUT_OF_MEMORY";
      this.#fail(isMemory ? `over ${MEMORY_MB_MAX} MB of memory` : String(error));
    });
    return thread;
  }

  /** Undefined while rules are still to be taken over. */
  #toWhole(answer: ReadAnswer): (FinalAnswer & { rules: Rule[] }) | undefined {
    const { rules = [], read } = this.#current ?? {};
    if (!("next" in answer)) {
      if (!("messages" in answer) || answer.messages === 0) return { ...answer, rules };
      if (this.#current !== undefined) this.#current.read = answer;
      return undefined;
    }
    for (const rule of answer.next) rules.push(rule);
    const isWhole = read !== undefined && rules.length > (read.messages - 1) * RULES_A_MESSAGE;
    return isWhole ? { ...read, rules } : undefined;
  }

  /** One message after the other: several that wait would be read in one turn of the event loop. */
  #askForRules(thread: Worker): void {
    const next: NextRules = { from: this.#current?.rules.length ?? 0 };
    thread.postMessage(next);
  }

  /** The thread is not used again: it may be at it for long. */
  #fail(took: string): void {
    this.#end();
    const { job, reject } = this.#settle() ?? {};
    const text = job === undefined ? "" : "samples" in job ? job.draft.text : job.text;
    const seen = `a rule set of ${text.length} characters took ${took} to read`;
    reject?.(new ServerError("SLUICE_BODY_TOO_LARGE", seen));
    this.#next();
  }

  #settle(): Waiting | undefined {
    const current = this.#current;
    this.#current = undefined;
    return current;
  }

  #end(): void {
    this.#cancel();
    const thread = this.#thread;
    this.#thread = undefined;
    void thread?.terminate();
  }
}

/** Reads what is to come into force. */
const publisher = new ThreadReader();
/** Reads what operators only look at. */
const previewer = new ThreadReader();

/** Between threads, lists of addresses lose what they do; the ranges that they are made of are there. */
function restore(rules: RuleSet): RuleSet {
  const withIps = <T extends Pick<RuleSet, "exempt">>(of: T): T => {
    const { exempt } = of;
    if (exempt.ranges.length === 0) return of;
    return { ...of, exempt: { ...exempt, ips: toCidrList(exempt.ranges) } };
  };
  return withIps({ ...rules, rules: rules.rules.map(withIps) });
}

const MORE = /and (\d+) more$/;

function toError({ problems, message }: FailedJob, file: string | undefined): Error {
  if (problems === undefined) return new ServerError("SLUICE_REQUEST_INVALID", message);
  const more = Number(MORE.exec(message)?.[1] ?? 0);
  return new RulesError(problems, file === undefined ? { more } : { file, more });
}
