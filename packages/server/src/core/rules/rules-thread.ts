// The thread in which long rules are read, so that decisions go on meanwhile. It answers one job after the other; see
// thread-reader.ts, which starts it.

import { parentPort } from "node:worker_threads";
import { parseRules, type RuleSet, RulesError } from "sluice/rules";
import { type FailedJob, mustBeUsable, type ReadAnswer, type ReadJob } from "./read-job.js";

parentPort?.on("message", (job: ReadJob) => parentPort?.postMessage(answerTo(job)));

function answerTo(job: ReadJob): ReadAnswer {
  try {
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
