// The thread in which long rules are read, and samples decided by them, so that decisions go on meanwhile. It answers one job after the other; see
// thread-reader.ts, which starts it.

import { parentPort } from "node:worker_threads";
import { parseRules, type RuleSet, RulesError } from "sluice/rules";
import { runReplayJob } from "../preview/replay-both.js";
import {
  type FailedJob,
  mustBeUsable,
  type ReadAnswer,
  type ReadJob,
  type ThreadJob,
} from "./read-job.js";

parentPort?.on("message", (job: ThreadJob) => {
  void answerTo(job).then((answer) => parentPort?.postMessage(answer));
});

async function answerTo(job: ThreadJob): Promise<ReadAnswer> {
  try {
    if ("samples" in job) return { replayed: await runReplayJob(job) };
    const rules = read(job);
    return { version: rules.version, rules: job.returnsRules ? rules : undefined };
  } catch (error) {
    return { failed: toFailed(error) };
  }
}

function read({ text, file, use }: ReadJob): RuleSet {
  const rules = parseRules(text, file === undefined ? {} : { file });
  if (use !== undefined) mustBeUsable(rules, use);
  return rules;
}

function toFailed(error: unknown): FailedJob {
  if (error instanceof RulesError) return { problems: error.problems, message: error.message };
  return { problems: undefined, message: error instanceof Error ? error.message : String(error) };
}
