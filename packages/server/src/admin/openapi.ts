// The OpenAPI 3.1 document of the admin port, made of the table of routes and the shapes that they read and answer with.

import type { JsonSchema, Shape } from "sluice/shapes";
import { problemSchema } from "../base/http/problem.js";
import type { Route } from "./route.js";

/** Every status that a problem may have, and when. */
const PROBLEMS: Readonly<Record<string, string>> = {
  "400": "The request is invalid.",
  "401": "The bearer token, or the session, is missing or not known.",
  "403": "The caller's role does not allow it, or a web page of another origin asks.",
  "404": "There is nothing of that name, or the service has no control plane.",
  "409":
    "It has changed meanwhile: `current` is what is there, `yours` what was sent. Or the node is a follower.",
  "413": "The body is too large.",
  "415": "The body is not application/json.",
  "422": "The rules can't be used: `problems` has all that is wrong, with lines.",
  "428": "It already exists: send If-Match with the revision to replace.",
  "429": "Too many failed logins.",
  "503": "The database does not answer.",
};

const ALWAYS = ["400", "401", "403"];
const WITH_CONTROL = ["404", "409", "503"];
const WITH_BODY = ["413", "415"];

/** The document as JSON. @param version - Of the package. */
export function toOpenApi(routes: readonly Route[], version: string): string {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    paths[route.path] ??= {};
    paths[route.path][route.method.toLowerCase()] = toOperation(route);
  }
  return JSON.stringify({
    openapi: "3.1.0",
    info: {
      title: "Sluice admin API",
      version,
      description:
        "Rules, plans, tenants, API keys, overrides, blocks and switches; counters; health.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    jsonSchemaDialect: "https://json-schema.org/draft/2020-12/schema",
    paths,
    components: {
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer" },
        session: { type: "apiKey", in: "cookie", name: "sluice_session" },
      },
      parameters: HEADERS,
      schemas: { Problem: { ...problemSchema, additionalProperties: true } },
    },
  });
}

const HEADERS = {
  Reason: toHeader("Sluice-Reason", "Why, for the audit log, where the body has no `reason`."),
  IdempotencyKey: toHeader(
    "Idempotency-Key",
    "The same request with the same key is one change, however often it is sent.",
  ),
  IfMatch: toHeader("If-Match", 'The ETag of what is replaced: `"3"`; or `*`.'),
  IfNoneMatch: toHeader("If-None-Match", "`*`: it must not exist yet."),
} as const;

function toHeader(name: string, description: string) {
  return { name, in: "header", required: false, description, schema: { type: "string" } };
}

function toOperation(route: Route) {
  const { role, summary, input } = route;
  return {
    operationId: toOperationId(route),
    summary,
    description: role === "open" ? "Needs no token." : `Needs the role ${role}.`,
    "x-sluice-role": role,
    security: role === "open" ? [] : [{ bearer: [] }, { session: [] }],
    parameters: toParameters(route),
    ...(input === undefined
      ? {}
      : {
          requestBody: {
            required: route.method !== "DELETE",
            content: { "application/json": { schema: input.schema } },
          },
        }),
    responses: toResponses(route),
  };
}

/** `PUT /v1/plans/{id}` → `put-plans-id`. */
function toOperationId({ method, path }: Route): string {
  const words = path.replace(/^\/v1/, "").replaceAll(/[^A-Za-z]+/g, "-");
  return `${method.toLowerCase()}${words}`.replace(/-$/, "");
}

function toParameters({ method, path, query, needsControl, isRead }: Route): JsonSchema[] {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
  const inPath = names.map((name) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
  const isChange = needsControl && method !== "GET" && isRead !== true;
  const headers = [
    ...(isChange ? ["Reason", "IdempotencyKey"] : []),
    ...(isChange && method !== "POST" ? ["IfMatch"] : []),
    ...(isChange && method === "PUT" ? ["IfNoneMatch"] : []),
  ];
  return [
    ...inPath,
    ...(query === undefined ? [] : toQueryParameters(query)),
    ...headers.map((name) => ({ $ref: `#/components/parameters/${name}` })),
  ];
}

function toQueryParameters({ fields = {} }: Shape<unknown>): JsonSchema[] {
  return Object.entries(fields).map(([name, { shape, about, isRequired, byDefault }]) => ({
    name,
    in: "query",
    required: isRequired,
    description: about,
    schema: byDefault === undefined ? shape.schema : { ...shape.schema, default: byDefault },
  }));
}

function toResponses({ method, path, input, reply, status = 200, needsControl }: Route) {
  const statuses = [
    ...ALWAYS,
    ...(needsControl ? WITH_CONTROL : []),
    ...(input === undefined ? [] : WITH_BODY),
    ...(needsControl && method === "PUT" ? ["428"] : []),
    ...(path.startsWith("/v1/rule-sets/{") ? ["422"] : []),
    ...(path === "/v1/session" && method === "POST" ? ["429"] : []),
  ];
  const problem = {
    "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } },
  };
  const content = reply && { content: { "application/json": { schema: reply.schema } } };
  return {
    [status]: { description: "The answer.", ...content },
    ...Object.fromEntries(
      statuses.sort().map((each) => [each, { description: PROBLEMS[each], content: problem }]),
    ),
  };
}
