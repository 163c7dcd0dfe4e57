// The OpenAPI 3.1 document, made from the list of endpoints and the shapes that the server uses.

import type { JsonSchema } from "sluice/shapes";
import { problemSchema } from "../../base/http/problem.js";
import { answerSchema } from "../decision-json/decision-json.js";
import { answerErrorSchema, answersSchema } from "../verbs/batch.js";
import { toLimitSchemas } from "../verbs/verb-inputs.js";
import type { Endpoint } from "./endpoints.js";
import { limitsSchema } from "./limits-list.js";

const VERSION = "1.0.0";

/** Every status that a problem may have, and when. */
const PROBLEMS: Readonly<Record<string, string>> = {
  "400": "The body can't be understood; `field` says where.",
  "401": "The bearer token is missing or wrong.",
  "403": "No tokens are configured, and the Host header does not name this machine.",
  "404": "There is no such rule, or nothing is held under that id.",
  "409": "A request with the same Idempotency-Key is under way.",
  "413": "The body is too large.",
  "415": "The body is not application/json.",
  "422": "The Idempotency-Key was used before with another request.",
  "503": "The store failed, and the rule says `onStoreFailure: throw`.",
};

/** The document as JSON. */
export function toOpenApi(endpoints: readonly Endpoint[]): string {
  return JSON.stringify({
    openapi: "3.1.0",
    info: {
      title: "Sluice decision API",
      version: VERSION,
      description: "Decides, for every request: now, later or no.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    jsonSchemaDialect: "https://json-schema.org/draft/2020-12/schema",
    security: [{ bearer: [] }],
    paths: {
      ...Object.fromEntries(endpoints.map((one) => [one.path, { post: toOperation(one) }])),
      "/v1/limits": { get: toGet("limits", "The rules in force.", "Limits") },
    },
    components: {
      securitySchemes: { bearer: { type: "http", scheme: "bearer" } },
      parameters: { IdempotencyKey: idempotencyKey },
      schemas: {
        ...toLimitSchemas(),
        Answer: answerSchema,
        AnswerError: answerErrorSchema,
        Answers: answersSchema,
        AnswerOrAnswers: { anyOf: [refTo("Answer"), refTo("Answers")] },
        Done: toDoneSchema({}),
        Refunded: toDoneSchema({
          refunded: { type: "integer", minimum: 0, description: "Units that were refunded." },
        }),
        Unblocked: toDoneSchema({
          wasBlocked: { type: "boolean", description: "Whether there was a block." },
        }),
        Explanation: { type: "object", required: ["version", "allowed", "rules"] },
        Limits: limitsSchema,
        Problem: problemSchema,
      },
    },
  });
}

const idempotencyKey = {
  name: "Idempotency-Key",
  in: "header",
  required: false,
  description: 'A text in quotes: `"8e03978e"`. The same key gets the same answer for a minute.',
  schema: { type: "string" },
};

function toDoneSchema(reported: Readonly<Record<string, JsonSchema>>): JsonSchema {
  const properties = { ok: { const: true }, ...reported };
  const required = Object.keys(properties);
  return { type: "object", properties, required, additionalProperties: false };
}

function toOperation({ path, summary, input, answer, examples }: Endpoint) {
  const named = Object.entries(examples).map(([name, value]) => [name, { value }]);
  return {
    operationId: path.slice("/v1/".length),
    summary,
    parameters: [{ $ref: "#/components/parameters/IdempotencyKey" }],
    requestBody: {
      required: true,
      content: {
        "application/json": { schema: input.schema, examples: Object.fromEntries(named) },
      },
    },
    responses: toResponses(answer, Object.keys(PROBLEMS)),
  };
}

function toGet(operationId: string, summary: string, answer: string) {
  return { operationId, summary, responses: toResponses(answer, ["401", "403"]) };
}

function toResponses(answer: string, problems: readonly string[]) {
  const content = { "application/json": { schema: refTo(answer) } };
  const problem = { "application/problem+json": { schema: refTo("Problem") } };
  return {
    "200": { description: "The answer.", content },
    ...Object.fromEntries(
      problems.map((status) => [status, { description: PROBLEMS[status], content: problem }]),
    ),
  };
}

function refTo(name: string): JsonSchema {
  return { $ref: `#/components/schemas/${name}` };
}
