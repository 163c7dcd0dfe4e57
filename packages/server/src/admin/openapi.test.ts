// The OpenAPI document: it has every route, and its schemas take what the server takes and answers.

import { Ajv2020 } from "ajv/dist/2020.js";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type ControlAdmin, startControlAdmin } from "../../test/control/admin-fixture.js";
import { testDatabases } from "../../test/control/databases.js";
import { ROUTES } from "./routes.js";

const [databases, ...others] = testDatabases();
let admin: ControlAdmin;
// biome-ignore lint/suspicious/noExplicitAny: a document is looked into by path.
let document: any;

beforeAll(async () => {
  admin = await startControlAdmin(await databases.ready());
  document = (await admin.ask("GET /v1/openapi.json", { as: "none" })).body;
});
afterAll(async () => {
  await admin.close();
  await Promise.all([databases, ...others].map((each) => each.stop()));
});

it("has every route with its role, and no other; each has a name of its own", () => {
  const listed: string[] = [];
  const ids: string[] = [];
  for (const [path, operations] of Object.entries<Record<string, Record<string, string>>>(
    document.paths,
  )) {
    for (const [method, operation] of Object.entries(operations)) {
      listed.push(`${method.toUpperCase()} ${path} ${operation["x-sluice-role"]}`);
      ids.push(operation.operationId);
    }
  }
  const routes = ROUTES.map(({ method, path, role }) => `${method} ${path} ${role}`);
  expect(listed.sort()).toEqual(routes.sort());
  expect(new Set(ids).size).toBe(ids.length);
});

it("declares the parameters of every path", () => {
  for (const { method, path } of ROUTES) {
    const { parameters } = document.paths[path][method.toLowerCase()];
    const inPath = parameters.filter((each: { in?: string }) => each.in === "path");
    expect(inPath.map(({ name }: { name: string }) => `{${name}}`)).toEqual(
      path.match(/\{\w+\}/g) ?? [],
    );
  }
});

it("has schemas that fit what is sent and answered", async () => {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  const fits = (schema: object, value: unknown) => {
    const validate = ajv.compile(schema);
    return validate(value) ? [] : validate.errors;
  };
  const json = "application/json";
  for (const [request, body] of [
    ["PUT /v1/plans/pro", { tier: "pro", limits: { login: "50/minute" } }],
    ["PUT /v1/tenants/acme", { plan: "pro", attributes: { seats: 5 } }],
    ["POST /v1/blocks", { subjects: ["ip:203.0.113.0/24"], reason: "abuse" }],
    ["POST /v1/api-keys", { tenant: "acme", name: "web" }],
    ["POST /v1/rule-sets", { text: "version: 1\nrules: []" }],
    ["GET /v1/audit", undefined],
    ["GET /v1/rules", undefined],
  ] as const) {
    const [method, path] = request.split(" ");
    const route =
      ROUTES.find(
        (each) => each.method === method && path.replace(/(?<=s)\/\w+$/, "/{id}") === each.path,
      ) ?? ROUTES.find((each) => each.method === method && each.path === path);
    const operation = document.paths[route?.path ?? ""][method.toLowerCase()];
    if (body !== undefined)
      expect(fits(operation.requestBody.content[json].schema, body)).toEqual([]);
    const answer = await admin.ask(request, body === undefined ? {} : { body });
    const { content } = operation.responses[String(answer.status)];
    expect([request, fits(content[json].schema, answer.body)]).toEqual([request, []]);
  }
});
