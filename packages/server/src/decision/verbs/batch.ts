// Several requests in one call, each decided on its own and in order: an invalid one gets an error in its place, and the
// others are decided.

import type { MaybePromise } from "sluice";
import type { JsonSchema } from "sluice/shapes";
import type { Problem } from "../../base/http/problem.js";
import { isThenable } from "../../base/maybe-promise.js";
import { InputError } from "../input-error.js";
import { toPublicProblem } from "../json-response.js";

/**
 * The answers to a batch as JSON: immediately, unless one of them is a promise.
 *
 * @param decide - Answers the request at an index.
 * @param onError - Called with every error.
 */
export function answerBatch(
  count: number,
  decide: (place: number) => MaybePromise<string>,
  onError: (error: unknown) => void,
): MaybePromise<string> {
  const answers = new Array<MaybePromise<string>>(count);
  let isWaiting = false;
  for (let i = 0; i < count; i++) {
    try {
      const answer = decide(i);
      if (isThenable(answer)) {
        isWaiting = true;
        answers[i] = answer.catch((error: unknown) => toErrorAnswer(error, i, onError));
      } else answers[i] = answer;
    } catch (error) {
      answers[i] = toErrorAnswer(error, i, onError);
    }
  }
  return isWaiting ? Promise.all(answers).then(toText) : toText(answers as string[]);
}

function toText(answers: readonly string[]): string {
  return `{"answers":[${answers.join(",")}]}`;
}

function toErrorAnswer(error: unknown, place: number, onError: (error: unknown) => void): string {
  onError(error);
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
