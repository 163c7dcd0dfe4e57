// Several requests in one call, each decided on its own and in order: an invalid one gets an error in its place, and the
// others are decided.

import type { MaybePromise } from "sluice";
import { isThenable } from "sluice/internals";
import type { JsonSchema } from "sluice/shapes";
import type { Problem } from "../../base/http/problem.js";
import { InputError } from "../input-error.js";
import { toPublicProblem } from "../json-response.js";

/** How the requests of a batch are answered, each by its index. */
export interface BatchSteps<T> {
  decide(place: number): MaybePromise<T>;
  /** The answer that follows from what was decided. */
  toAnswer(decided: T, place: number): string;
  /** Called with every error. */
  onError(error: unknown): void;
}

/**
 * The answers to a batch as JSON: immediately, unless one of them is a promise. All are decided before the first is
 * answered: of two short loops V8 can inline more than of a long one (bench service/batch).
 */
export function answerBatch<T>(count: number, steps: BatchSteps<T>): MaybePromise<string> {
  const decided = new Array<MaybePromise<T> | Failure>(count);
  for (let i = 0; i < count; i++) {
    try {
      decided[i] = steps.decide(i);
    } catch (error) {
      decided[i] = new Failure(error);
    }
  }
  const answers = new Array<MaybePromise<string>>(count);
  let isWaiting = false;
  for (let i = 0; i < count; i++) {
    const answer = answerOne(decided[i], i, steps);
    if (isThenable(answer)) isWaiting = true;
    answers[i] = answer;
  }
  return isWaiting ? Promise.all(answers).then(toText) : toText(answers as string[]);
}

/** An error in place of a decision. */
class Failure {
  readonly error: unknown;

  constructor(error: unknown) {
    this.error = error;
  }
}

function answerOne<T>(
  decided: MaybePromise<T> | Failure,
  place: number,
  steps: BatchSteps<T>,
): MaybePromise<string> {
  if (decided instanceof Failure) return toErrorAnswer(decided.error, place, steps);
  if (isThenable(decided)) return answerLater(decided, place, steps);
  try {
    return steps.toAnswer(decided, place);
  } catch (error) {
    return toErrorAnswer(error, place, steps);
  }
}

function answerLater<T>(decided: Promise<T>, place: number, steps: BatchSteps<T>): Promise<string> {
  return decided
    .then((value) => steps.toAnswer(value, place))
    .catch((error: unknown) => toErrorAnswer(error, place, steps));
}

/** One flat string: with something added around the joined answers, they would be copied once more (bench service/batch). */
function toText(answers: string[]): string {
  answers[0] = `{"answers":[${answers[0]}`;
  answers[answers.length - 1] += "]}";
  return answers.join(",");
}

function toErrorAnswer<T>(error: unknown, place: number, steps: BatchSteps<T>): string {
  steps.onError(error);
  if (error instanceof InputError) error.within(place).within("requests");
  const problem: Problem = toPublicProblem(error);
  return JSON.stringify({ error: problem });
}

/** The schema of the answers. */
export const answersSchema: JsonSchema = {
  type: "object",
  properties: {
    answers: {
      type: "array",
      description: "In the order of the requests.",
      items: {
        anyOf: [
          { $ref: "#/components/schemas/Answer" },
          { $ref: "#/components/schemas/AnswerError" },
        ],
      },
    },
  },
  required: ["answers"],
  additionalProperties: false,
};

/** The schema of the answer to a request that could not be decided. */
export const answerErrorSchema: JsonSchema = {
  type: "object",
  properties: {
    error: {
      type: "object",
      properties: {
        status: { type: "integer" },
        code: { type: "string" },
        detail: { type: "string" },
        field: { type: "string" },
      },
      required: ["status", "code", "detail"],
      additionalProperties: false,
    },
  },
  required: ["error"],
  additionalProperties: false,
};
