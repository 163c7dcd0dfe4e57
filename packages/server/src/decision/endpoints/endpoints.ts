// The endpoints under /v1: what each takes, does and answers, with an example. The server and the OpenAPI
// document are made from this one list.

import type { MaybePromise } from "sluice";
import type { Shape } from "sluice/shapes";
import { parseJson } from "../../base/http/json.js";
import { RequestsByKey, TemplateReader } from "../fast-json/template-reader.js";
import { readToFirstProblem } from "../input-error.js";
import { answerBatch } from "../verbs/batch.js";
import {
  type FactsRequest,
  type Inputs,
  isBatch,
  type LimitRequest,
} from "../verbs/verb-inputs.js";
import type { KeyVerb, VerbCall, Verbs } from "../verbs/verbs.js";

/** The name of the schema that an endpoint answers with. */
export type AnswerName =
  | "Answer"
  | "AnswerOrAnswers"
  | "Done"
  | "Refunded"
  | "Unblocked"
  | "Explanation";

/** One endpoint. All are asked by POST. */
export interface Endpoint {
  readonly path: string;
  readonly summary: string;
  readonly input: Shape<unknown>;
  readonly answer: AnswerName;
  readonly examples: Readonly<Record<string, unknown>>;
  /** Reads a body and answers with JSON. @throws ServerError or InputError if the body can't be used. */
  run(body: Buffer, call: VerbCall): MaybePromise<string>;
  /** Undoes what an answer reports that its caller can't get any more; undefined: nothing has to be undone. */
  readonly undo?: ((answer: string) => MaybePromise<unknown>) | undefined;
}

const facts = { method: "GET", path: "/api/items", ip: "203.0.113.10", user: "42" };
const limit = { tokenBucket: { capacity: 50, refillPerSecond: 10 } };
const own = { limit, key: "user:42", name: "login" };
const twoConcurrent = { limit: { concurrency: { limit: 2, permitMs: 30_000 } }, key: "user:42" };
const byRule = { rule: "per-address", key: "ip:203.0.113.10" };

/**
 * Makes the endpoints.
 *
 * @param onError - Called with errors in batches, which the status of the response does not show.
 */
export function toEndpoints(
  verbs: Verbs,
  inputs: Inputs,
  onError: (error: unknown) => void,
): readonly Endpoint[] {
  return [
    oneOrMany("/v1/check", "Decides, and charges if allowed.", inputs, {
      examples: {
        rules: { facts },
        limit: { ...own, cost: 3 },
        batch: { requests: [{ facts }, own] },
      },
      decide: (request, call) => verbs.check(request, call),
      toKeyVerb: (request, call) => verbs.checkKeys(request, call),
      together: (call, decide) => verbs.together(call, decide),
      onError,
    }),
    oneOrMany("/v1/peek", "What check would answer; charges nothing.", inputs, {
      examples: {
        rules: { facts, results: true },
        limit: { limit: "100/minute", key: "user:42" },
        batch: { requests: [{ facts }, own] },
      },
      decide: (request, call) => verbs.peek(request, call),
      toKeyVerb: (request, call) => verbs.peekKeys(request, call),
      together: (call, decide) => decide(call),
      onError,
    }),
    endpoint("/v1/reserve", "Charges a cost now, to be settled later.", inputs.reserve, {
      answer: "Answer",
      examples: { rules: { facts, cost: 5 }, limit: { ...own, cost: 20 } },
      run: (request, call) => verbs.reserve(request, call),
      undo: (held) => verbs.cancel(held),
    }),
    endpoint("/v1/commit", "Settles the real cost of a reservation.", inputs.settle, {
      answer: "Done",
      examples: { reservation: { id: "{reserve}", cost: 7 } },
      run: (request) => verbs.commit(request),
    }),
    endpoint("/v1/cancel", "Gives a reservation back.", inputs.held, {
      answer: "Done",
      examples: { reservation: { id: "{reserve}" } },
      run: (request) => verbs.cancel(request),
    }),
    endpoint("/v1/acquire", "Takes a permit of a concurrency limit.", inputs.acquire, {
      answer: "Answer",
      examples: { limit: twoConcurrent },
      run: (request, call) => verbs.acquire(request, call),
      undo: (held) => verbs.release(held),
    }),
    endpoint("/v1/release", "Gives a permit back.", inputs.held, {
      answer: "Done",
      examples: { permit: { id: "{acquire}" } },
      run: (request) => verbs.release(request),
    }),
    endpoint("/v1/refund", "Grants units, at most what was used.", inputs.refund, {
      answer: "Refunded",
      examples: { rule: { ...byRule, cost: 2 }, limit: { ...own, cost: 5 } },
      run: (request, call) => verbs.refund(request, call),
    }),
    endpoint("/v1/block", "Refuses a key for a time.", inputs.block, {
      answer: "Done",
      examples: { rule: { ...byRule, forMs: 60_000 }, limit: { ...own, forMs: null } },
      run: (request, call) => verbs.block(request, call),
    }),
    endpoint("/v1/unblock", "Ends a block.", inputs.target, {
      answer: "Unblocked",
      examples: { rule: byRule, limit: own },
      run: (request, call) => verbs.unblock(request, call),
    }),
    endpoint("/v1/reset", "Forgets what a key used. Blocks stay.", inputs.target, {
      answer: "Done",
      examples: { rule: byRule, limit: own },
      run: (request, call) => verbs.reset(request, call),
    }),
    endpoint("/v1/explain", "Why a request would be answered as it would.", inputs.explain, {
      answer: "Explanation",
      examples: { rules: { facts, all: true } },
      run: (request) => verbs.explain(request),
    }),
  ];
}

/** An endpoint that takes a request, or a batch of them. */
function oneOrMany(
  path: string,
  summary: string,
  { request: shape, requestOrBatch: input }: Inputs,
  rest: {
    readonly examples: Readonly<Record<string, unknown>>;
    readonly decide: (request: FactsRequest | LimitRequest, call: VerbCall) => MaybePromise<string>;
    /** The same for a limit and other keys than that of the request. */
    readonly toKeyVerb: (request: LimitRequest, call: VerbCall) => KeyVerb;
    /** Decides a batch. */
    readonly together: (
      call: VerbCall,
      decideAll: (call: VerbCall) => MaybePromise<string>,
    ) => MaybePromise<string>;
    readonly onError: (error: unknown) => void;
  },
): Endpoint {
  const { examples, decide, toKeyVerb, together, onError } = rest;
  const reader = new TemplateReader(shape);
  const run = (body: Buffer, call: VerbCall): MaybePromise<string> => {
    const read = reader.read(body);
    if (read === undefined) return parseAndRun(body, call);
    if (read instanceof RequestsByKey) return runKeys(read, call);
    return isMany(read) ? runMany(read.length, (place) => read[place], call) : decide(read, call);
  };
  const parseAndRun = (body: Buffer, call: VerbCall): MaybePromise<string> => {
    const read = readToFirstProblem(input, parseJson(body));
    if (!isBatch(read)) return decide(read, call);
    const { requests } = read;
    // Each is checked when its turn comes: an invalid one fails alone.
    return runMany(requests.length, (place) => readToFirstProblem(shape, requests[place]), call);
  };
  const runKeys = (
    { request, keys }: RequestsByKey<FactsRequest | LimitRequest>,
    whole: VerbCall,
  ) =>
    together(whole, (call) => {
      // Made by the first that needs it: an invalid limit is an error in the place of each.
      let verb: KeyVerb | undefined;
      // Only a request by a limit has a key.
      const verbOf = () => (verb ??= toKeyVerb(request as LimitRequest, call));
      return answerBatch(keys.length, {
        decide: (place) => verbOf().decide(keys[place]),
        toAnswer: (decision, place) => verbOf().toAnswer(decision, keys[place]),
        onError,
      });
    });
  const runMany = (
    count: number,
    requestAt: (place: number) => FactsRequest | LimitRequest,
    whole: VerbCall,
  ) =>
    together(whole, (call) =>
      answerBatch(count, {
        decide: (place) => decide(requestAt(place), call),
        toAnswer: (answer) => answer,
        onError,
      }),
    );
  return { path, summary, input, answer: "AnswerOrAnswers", examples, run };
}

function endpoint<T>(
  path: string,
  summary: string,
  input: Shape<T>,
  rest: {
    readonly answer: AnswerName;
    readonly examples: Readonly<Record<string, unknown>>;
    readonly run: (request: T, call: VerbCall) => MaybePromise<string>;
    /** Gives back what an answer holds. */
    readonly undo?: (held: { readonly id: string }) => MaybePromise<unknown>;
  },
): Endpoint {
  const { answer, examples, run, undo } = rest;
  return {
    path,
    summary,
    input,
    answer,
    examples,
    run: (body, call) => run(readToFirstProblem(input, parseJson(body)), call),
    undo: undo && ((text) => undoHold(text, undo)),
  };
}

/** A refusal has no id. */
function undoHold(
  answer: string,
  undo: (held: { readonly id: string }) => MaybePromise<unknown>,
): MaybePromise<unknown> {
  const { id } = JSON.parse(answer) as { readonly id?: string };
  return id === undefined ? undefined : undo({ id });
}

function isMany<T>(read: T | readonly T[]): read is readonly T[] {
  return Array.isArray(read);
}
