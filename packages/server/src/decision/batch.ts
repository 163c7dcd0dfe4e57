// Many requests in one call, each decided by itself and in their order: a bad one gets its error in its place
// and fails no other.

import type { MaybePromise } from "sluice";
import type { JsonSchema } from "sluice/shapes";
import type { Problem } from "../base/http/problem.js";
import { isThenable } from "../base/maybe.js";
import { toToldProblem } from "./decision-reply.js";
import { InputError } from "./input-error.js";

/**
 * The answers to a batch as JSON: at once if all of them are.
 *
 * @param decide - Answers the request at a place.
 * @param onError - Told of every error.
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
  const problem: Problem = toToldProblem(error);
  return JSON.stringify({ error: problem });
}

/** What the answers look like. */
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

/** What stands in the place of a request that could not be decided. */
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
