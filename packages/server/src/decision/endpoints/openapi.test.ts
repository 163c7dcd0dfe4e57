// The OpenAPI document: what it says is what the server does.

import { Ajv2020 } from "ajv/dist/2020.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openTestListener, type TestListener } from "../../../test/decision-listener.js";

interface Operation {
  readonly operationId: string;
  readonly requestBody: Body;
  readonly responses: Readonly<Record<string, Body & { description: string }>>;
}
interface Body {
  readonly content: Readonly<
    Record<string, { schema: object; examples?: Record<string, { value: unknown }> }>
  >;
}
interface Document {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, { post?: Operation; get?: Operation }>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}

let test: TestListener;
let document: Document;
const ajv = new Ajv2020({ strict: false, allErrors: true });

beforeAll(async () => {
  test = await openTestListener();
  document = (await test.get("/openapi.json")).body as unknown as Document;
  ajv.addSchema({ $id: "https://example.com/api", ...document });
});
afterAll(() => test.close());

/** Why a value does not fit the schema at a place of the document; empty if it does. */
function problemsAt(pointer: string, value: unknown): unknown[] {
  const validate = ajv.compile({ $ref: `https://example.com/api#${pointer}` });
  return validate(value) ? [] : (validate.errors ?? []);
}

function pointerTo(...steps: string[]): string {
  const escaped = steps.map((s) =>
    encodeURIComponent(s.replaceAll("~", "~0").replaceAll("/", "~1")),
  );
  return `/${escaped.join("/")}`;
}

const JSON_TYPE = "application/json";

function inputAt(path: string): string {
  return pointerTo("paths", path, "post", "requestBody", "content", JSON_TYPE, "schema");
}

function outputAt(path: string, method: "post" | "get", status: number): string {
  const type = status < 400 ? JSON_TYPE : "application/problem+json";
  return pointerTo("paths", path, method, "responses", `${status}`, "content", type, "schema");
}

/** Examples name what has to be there first. */
async function toReal(value: unknown): Promise<unknown> {
  const { id, ...rest } = value as { id?: string };
  if (id === undefined) return value;
  const permit = { limit: { concurrency: { limit: 9, permitMs: 30_000 } }, key: "k" };
  const held =
    id === "{acquire}"
      ? await test.post("/v1/acquire", permit)
      : await test.post("/v1/reserve", { limit: "100/minute", key: "k" });
  return { id: held.body.id, ...rest };
}

describe("the document", () => {
  it("is OpenAPI 3.1 and has every endpoint", () => {
    expect(document.openapi).toBe("3.1.0");
    const verbs = ["check", "peek", "reserve", "commit", "cancel", "acquire", "release", "refund"];
    const others = ["block", "unblock", "reset", "explain", "limits"];
    const paths = [...verbs, ...others].map((name) => `/v1/${name}`);
    expect(Object.keys(document.paths).sort()).toEqual(paths.sort());
  });

  it("has only schemas that are valid and references that lead somewhere", () => {
    for (const [path, { post, get }] of Object.entries(document.paths)) {
      if (post !== undefined) expect(() => problemsAt(inputAt(path), {})).not.toThrow();
      const method = post === undefined ? "get" : "post";
      for (const status of Object.keys((post ?? get)?.responses ?? {})) {
        expect(() => problemsAt(outputAt(path, method, Number(status)), {})).not.toThrow();
      }
    }
    for (const name of Object.keys(document.components.schemas)) {
      expect(() => problemsAt(pointerTo("components", "schemas", name), {})).not.toThrow();
    }
  });

  it("has an example of every body, each of which fits and is answered as described", async () => {
    let examples = 0;
    for (const [path, { post }] of Object.entries(document.paths)) {
      if (post === undefined) continue;
      const given = post.requestBody.content[JSON_TYPE].examples ?? {};
      expect(Object.keys(given).length).toBeGreaterThan(0);
      for (const { value } of Object.values(given)) {
        examples += 1;
        expect(problemsAt(inputAt(path), value)).toEqual([]);
        const { status, body } = await test.post(path, await toReal(value));
        expect([path, status, body]).toEqual([path, 200, expect.anything()]);
        expect(problemsAt(outputAt(path, "post", 200), body)).toEqual([]);
      }
    }
    expect(examples).toBeGreaterThan(15);
    const { body } = await test.get("/v1/limits");
    expect(problemsAt(outputAt("/v1/limits", "get", 200), body)).toEqual([]);
  });
});

describe("the schema of bodies", () => {
  const facts = { method: "GET", path: "/", ip: "203.0.113.10" };
  const own = { limit: "5/minute", key: "k" };

  it.each([
    ["an unknown field", "/v1/check", { facts, costs: 1 }],
    ["a fact of another kind", "/v1/check", { facts: { ...facts, user: 7 } }],
    ["a missing fact", "/v1/check", { facts: { path: "/" } }],
    ["a negative cost", "/v1/check", { ...own, cost: -1 }],
    ["half a unit", "/v1/check", { ...own, cost: 0.5 }],
    ["an empty batch", "/v1/check", { requests: [] }],
    ["too large a batch", "/v1/check", { requests: Array(1_001).fill(own) }],
    ["an invalid limit", "/v1/check", { ...own, limit: { tokenBucket: { capacity: 1 } } }],
    ["both ways at the same time", "/v1/check", { facts, ...own }],
    ["a block for no time", "/v1/block", { ...own, forMs: 0 }],
    ["no id", "/v1/commit", { cost: 1 }],
  ])("refuses %s, as the server does, and the problem is as described", async (_, path, body) => {
    expect(problemsAt(inputAt(path), body)).not.toEqual([]);
    const answer = await test.post(path, body);
    expect(answer.status).toBe(400);
    expect(problemsAt(outputAt(path, "post", 400), answer.body)).toEqual([]);
  });
});
