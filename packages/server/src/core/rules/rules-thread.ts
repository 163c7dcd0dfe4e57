// The thread in which long rules are read, and samples decided by them, so that decisions go on meanwhile. It answers
// one job after the other; see thread-reader.ts, which starts it.

import { parentPort } from "node:worker_threads";
import { parseRules, type Rule, type RuleSet, RulesError } from "sluice/rules";
import { runReplayJob } from "../replay/replay-both.js";
import {
  type FailedJob,
  mustBeUsable,
  type NextRules,
  type ReadAnswer,
  type ReadJob,
  type ReadRules,
  RULES_A_MESSAGE,
  type ThreadJob,
} from "./read-job.js";
import { idsWithConsistency } from "./written-consistency.js";

/** Those that are being taken over. */
let latest: readonly Rule[] = [];

parentPort?.on("message", (job: ThreadJob | NextRules) => {
  void answerTo(job).then((answer) => parentPort?.postMessage(answer));
});

async function answerTo(job: ThreadJob | NextRules): Promise<ReadAnswer> {
  try {
    if ("from" in job) return { next: latest.slice(job.from, job.from + RULES_A_MESSAGE) };
    if ("samples" in job) return { replayed: await runReplayJob(job) };
    return toAnswer(read(job), job);
  } catch (error) {
    return { failed: toFailed(error) };
  }
}

function toAnswer({ rules, ...set }: RuleSet, { returnsRules, text }: ReadJob): ReadRules {
  const { version } = set;
  if (!returnsRules) return { version, set: undefined, messages: 0, withConsistency: [] };
  latest = rules;
  const messages = Math.ceil(rules.length / RULES_A_MESSAGE);
  return { version, set, messages, withConsistency: idsWithConsistency(text) };
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
