// Reading requests by what differs from one before: always what JSON.parse and the shape would have made of
// them, or nothing.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseJson } from "../../base/http/json.js";
import { readToFirstProblem } from "../input-error.js";
import { BATCH_MAX, isBatch, toInputs } from "../verbs/verb-inputs.js";
import { RequestsByKey, TemplateReader } from "./template-reader.js";

const inputs = toInputs({ keySecret: "a secret", isResolved: false });
const own = '{"limit":"9/second","key":"a"}';

function bytes(text: string): Buffer {
  return Buffer.from(text);
}

/** A reader that compares with this request from the first on. */
function like(request: string): TemplateReader<object> {
  const reader = new TemplateReader(inputs.request);
  reader.read(bytes(`{"requests":[${request}]}`));
  return reader;
}

/** What is read, with a request for each key. */
function readAll(reader: TemplateReader<object>, body: Buffer): unknown {
  const read = reader.read(body);
  if (!(read instanceof RequestsByKey)) return read;
  return read.keys.map((key) => ({ ...read.request, key }));
}

/** What is read in the usual way; undefined if anything is wrong with it. */
function readUsually(body: Buffer): object | readonly object[] | undefined {
  try {
    const read = readToFirstProblem(inputs.requestOrBatch, parseJson(body));
    return isBatch(read)
      ? read.requests.map((one) => readToFirstProblem(inputs.request, one))
      : read;
  } catch {
    return undefined;
  }
}

describe("a request like the one before", () => {
  it("is read with its own strings, wherever they stand", () => {
    const facts = { method: "GET", path: "/a", user: "1", apiKey: "k1" };
    const reader = like(JSON.stringify({ facts, cost: 2 }));
    for (const other of [
      { user: "2" },
      { path: "/b?c=d", user: "a-longer-name-than-a-slice" },
      {},
    ]) {
      const body = bytes(JSON.stringify({ facts: { ...facts, apiKey: "k2", ...other }, cost: 2 }));
      expect(reader.read(body)).toEqual(readUsually(body));
    }
  });

  it("leaves those alone that were read before", () => {
    const reader = like(own);
    const [first, second] = ["b", "c"].map((key) =>
      reader.read(bytes(`{"limit":"9/second","key":"${key}"}`)),
    );
    expect([first, second]).toMatchObject([{ key: "b" }, { key: "c" }]);
    expect(reader.read(bytes(own))).toMatchObject({ key: "a" });
  });

  it("is found in batches, with or without spaces", () => {
    const reader = new TemplateReader(inputs.request);
    const requests = ["a", "b", "cd"].map((key) => ({ limit: { fixedWindow: { limit: 3 } }, key }));
    for (const indent of [0, 1, 3]) {
      const body = bytes(JSON.stringify({ requests }, undefined, indent));
      expect(readAll(reader, body)).toEqual(requests);
    }
    expect(readAll(reader, bytes(`{"requests": [${own}, ${own}]}\n`))).toHaveLength(2);
  });

  it("is a key, and no request, in a batch of requests that differ in nothing else", () => {
    const reader = like('{"limit":"9/second","key":"a","name":"n","cost":2}');
    const batch = (...requests: object[]) => bytes(JSON.stringify({ requests }));
    const request = { limit: "9/second", key: "a", name: "n", cost: 2 };
    const keys = ["b", "a", "a longer key than a slice", "b"];
    const read = reader.read(batch(...keys.map((key) => ({ ...request, key }))));
    expect(read).toBeInstanceOf(RequestsByKey);
    expect(read).toEqual({ request, keys });
    for (const other of [{ limit: "8/second" }, { name: "m" }]) {
      const mixed = [request, { ...request, key: "b" }, { ...request, ...other }];
      expect(reader.read(batch(...mixed))).toEqual(mixed);
    }
    expect(reader.read(batch(request, { ...request, cost: 3 }))).toBeUndefined();
  });

  it("becomes the one to compare with once eight were unlike", () => {
    const reader = like(own);
    const other = bytes('{"key":"b","limit":"9/second"}');
    for (let i = 0; i < 9; i++) expect(reader.read(other)).toBeUndefined();
    expect(reader.read(other)).toMatchObject({ key: "b" });
  });
});

describe("is left to the usual way", () => {
  it.each([
    ["an escape", '{"limit":"9/second","key":"\\u0062"}'],
    ["a quote in a text", '{"limit":"9/second","key":"b\\"c"}'],
    ["a control character", '{"limit":"9/second","key":"b\nc"}'],
    ["a character that is not ASCII", '{"limit":"9/second","key":"ü"}'],
    ["a text that is refused", '{"limit":"9/second","key":""}'],
    ["a text that never ends", '{"limit":"9/second","key":"b'],
    ["another order", '{"key":"b","limit":"9/second"}'],
    ["another field", '{"limit":"9/second","key":"b","cost":2}'],
    ["something behind it", '{"limit":"9/second","key":"b"} x'],
    ["a number for a text", '{"limit":"9/second","key":7}'],
    ["nothing", ""],
  ])("%s", (_, request) => {
    expect(like(own).read(bytes(request))).toBeUndefined();
    expect(like(own).read(bytes(`{"requests":[${own},${request}]}`))).toBeUndefined();
  });

  it.each([
    ["an empty list", '{"requests":[]}'],
    ["a field behind the list", `{"requests":[${own}],"results":true}`],
    ["a comma behind the last", `{"requests":[${own},]}`],
    ["a list that never ends", `{"requests":[${own}`],
    ["two bodies", `{"requests":[${own}]}{}`],
    ["many bytes", `{"requests":[${Array(1_000).fill(own.replace("a", "a".repeat(200)))}]}`],
    ["too many requests", `{"requests":[${Array(BATCH_MAX + 1).fill(own)}]}`],
  ])("a batch with %s", (_, batch) => {
    expect(like(own).read(bytes(batch))).toBeUndefined();
  });

  it.each([
    ["says a field twice", '{"limit":"9/second","key":"a","key":"b"}'],
    ["has an escape", '{"limit":"9/second","key":"\\u0061"}'],
    ["is refused", '{"limit":"9/second","key":"a","nme":"b"}'],
    ["is long", `{"limit":"9/second","key":"${"a".repeat(5_000)}"}`],
  ])("what is like a request that %s", (_, request) => {
    expect(like(request).read(bytes(request))).toBeUndefined();
  });
});

describe("whatever comes", () => {
  const text = fc.oneof(
    fc.constantFrom(
      "",
      "a",
      "b",
      "user:1",
      "GET",
      "/api",
      '"',
      "\\",
      "ü",
      "{",
      "a longer text than that",
    ),
    fc.string({ maxLength: 20 }),
  );
  const limit = fc.constantFrom<unknown>(
    "9/second",
    "8/minute",
    { quota: { limit: 1, period: "day" } },
    ["9/second", { fixedWindow: { limit: 2, windowMs: 1_000 } }],
  );
  const byLimit = fc.record(
    { limit, key: text, name: text, cost: fc.nat() },
    { requiredKeys: ["limit"] },
  );
  const facts = fc.record(
    { method: text, path: text, user: text, apiKey: text, headers: fc.dictionary(text, text) },
    { requiredKeys: ["method", "path"] },
  );
  const byFacts = fc.record({ facts, results: fc.boolean() }, { requiredKeys: ["facts"] });
  const one = fc.oneof(byLimit, byFacts);
  const byKeys = fc
    .tuple(limit, fc.array(text, { maxLength: 5 }))
    .map(([same, keys]) => ({ requests: keys.map((key) => ({ limit: same, key })) }));
  const asked = fc.oneof(one, fc.record({ requests: fc.array(one, { maxLength: 5 }) }), byKeys);
  const written = fc
    .tuple(asked, fc.constantFrom(0, 1))
    .map(([value, indent]) => JSON.stringify(value, undefined, indent));
  /** Some bytes are struck by others, so that much of it is not JSON at all. */
  const struck = fc
    .tuple(written, fc.nat(), fc.constantFrom('"', "\\", ",", "}", "]", "x", " "), fc.boolean())
    .map(([body, at, by, isStruck]) => {
      if (!isStruck) return body;
      const place = at % body.length;
      return `${body.slice(0, place)}${by}${body.slice(place + 1)}`;
    });

  it("is what JSON.parse and the shape make of it, or nothing", () => {
    const runs = fc.property(fc.array(struck, { minLength: 1, maxLength: 30 }), (bodies) => {
      const reader = new TemplateReader(inputs.request);
      for (const body of [...bodies, ...bodies].map(bytes)) {
        const read = readAll(reader, body);
        if (read !== undefined) expect(read).toEqual(readUsually(body));
      }
    });
    fc.assert(runs, { numRuns: 300 });
  });
});
