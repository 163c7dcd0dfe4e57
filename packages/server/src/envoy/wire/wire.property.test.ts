import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JsonValue, RateLimitRequest, RateLimitResponse } from "../messages.js";
import { MalformedError } from "./reader.js";
import { decodeRequest, encodeRequest } from "./request.js";
import { decodeResponse, encodeResponse } from "./response.js";

const uint32 = fc.integer({ min: 0, max: 2 ** 32 - 1 });
// Valid UTF-16 only: the wire has no form for half a pair.
const text = fc.string({ unit: "binary", maxLength: 200 });
const requests: fc.Arbitrary<RateLimitRequest> = fc.record({
  domain: text,
  descriptors: fc.array(
    fc.record({
      entries: fc.array(fc.record({ key: text, value: text }), { maxLength: 5 }),
      limit: fc.option(fc.record({ requestsPerUnit: uint32, unit: fc.nat(7) }), { nil: undefined }),
      hits: fc.option(fc.maxSafeNat(), { nil: undefined }),
      isNegative: fc.boolean(),
    }),
    { maxLength: 5 },
  ),
  hits: uint32,
});
const headers = fc.record({ key: text, value: text });
const { json } = fc.letrec<{ json: JsonValue }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 4 },
    fc.constant(null),
    fc.boolean(),
    fc.double({ noNaN: true }),
    text,
    fc.array(tie("json"), { maxLength: 3 }),
    fc.dictionary(text, tie("json"), { maxKeys: 3 }),
  ),
}));
const responses: fc.Arbitrary<RateLimitResponse> = fc.record(
  {
    overallCode: fc.constantFrom(1, 2),
    statuses: fc.array(
      fc.record({
        code: fc.constantFrom(1, 2),
        currentLimit: fc.option(
          fc.record({ requestsPerUnit: uint32, unit: fc.nat(7), name: text }),
          {
            nil: undefined,
          },
        ),
        remaining: uint32,
        resetSeconds: fc.option(fc.nat(), { nil: undefined }),
      }),
      { maxLength: 5 },
    ),
    responseHeaders: fc.array(headers, { maxLength: 3 }),
    requestHeaders: fc.array(headers, { minLength: 1, maxLength: 3 }),
    dynamicMetadata: fc.dictionary(text, json, { maxKeys: 3 }),
  },
  { requiredKeys: ["overallCode", "statuses", "responseHeaders"] },
);

/** Bytes of a field that no message has, in each way of writing one. */
const unknownFields = fc.constantFrom(
  [0xf8, 0x07, 0xff, 0x01],
  [0xf9, 0x07, 1, 2, 3, 4, 5, 6, 7, 8],
  [0xfa, 0x07, 3, 0xff, 0xff, 0xff],
  [0xfb, 0x07, 0xf8, 0x07, 1, 0xfb, 0x07, 0xfc, 0x07, 0xfc, 0x07],
  [0xfd, 0x07, 1, 2, 3, 4],
);

describe("the wire form", () => {
  it("reads every request as it was written", () => {
    fc.assert(
      fc.property(requests, (request) => {
        expect(decodeRequest(encodeRequest(request))).toEqual(request);
      }),
    );
  });

  it("reads every response as it was written", () => {
    fc.assert(
      fc.property(responses, (response) => {
        expect(decodeResponse(encodeResponse(response))).toEqual(response);
      }),
    );
  });

  it("writes metadata as google.protobuf.Struct has it, with one field of each value", () => {
    const dynamicMetadata = { n: 1.5, e: "", f: false, z: null, l: [true, {}] };
    const bytes = encodeResponse({
      overallCode: 0,
      statuses: [],
      responseHeaders: [],
      dynamicMetadata,
    });
    // By hand, from struct.proto: field 6 of the response, then pairs of a key and a value.
    const number = [0x0a, 14, 0x0a, 1, 0x6e, 0x12, 9, 0x11, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f];
    const empty = [0x0a, 7, 0x0a, 1, 0x65, 0x12, 2, 0x1a, 0];
    const no = [0x0a, 7, 0x0a, 1, 0x66, 0x12, 2, 0x20, 0];
    const nothing = [0x0a, 7, 0x0a, 1, 0x7a, 0x12, 2, 0x08, 0];
    const list = [0x0a, 15, 0x0a, 1, 0x6c, 0x12, 10, 0x32, 8, 0x0a, 2, 0x20, 1, 0x0a, 2, 0x2a, 0];
    const pairs = [...number, ...empty, ...no, ...nothing, ...list];
    expect([...bytes]).toEqual([0x32, pairs.length, ...pairs]);
  });

  it("skips fields that it does not know, before and behind those it does", () => {
    fc.assert(
      fc.property(requests, unknownFields, unknownFields, (request, before, behind) => {
        const bytes = [Buffer.from(before), encodeRequest(request), Buffer.from(behind)];
        expect(decodeRequest(Buffer.concat(bytes))).toEqual(request);
      }),
    );
  });

  it("answers any bytes with a request or with MalformedError, and nothing else", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        try {
          decodeRequest(Buffer.from(bytes));
        } catch (error) {
          expect(error).toBeInstanceOf(MalformedError);
        }
      }),
      { numRuns: 5_000 },
    );
  });

  it("answers a request with a few bytes changed or cut off in the same way", () => {
    const changes = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(requests, changes, fc.nat(), (request, bytesChanged, cut) => {
        const bytes = encodeRequest(request);
        for (const [at, byte] of bytesChanged) bytes[at % Math.max(1, bytes.length)] = byte;
        try {
          decodeRequest(bytes.subarray(0, bytes.length - (cut % 4)));
        } catch (error) {
          expect(error).toBeInstanceOf(MalformedError);
        }
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("malformed bytes", () => {
  it.each([
    ["a field number of 0", [0x00, 0x01]],
    ["a text that is longer than the message", [0x0a, 0x05, 0x61]],
    ["a message that is longer than the one around it", [0x12, 0x02, 0x0a, 0x7f]],
    ["a message that goes on where the one around it has ended", [0x12, 2, 0x0a, 3, 0x0a, 1, 0x61]],
    ["a number that does not end", [0x18, 0xff]],
    ["a number of more than ten bytes", [0x18, ...Array(11).fill(0xff), 0x01]],
    ["a wire type that there is not", [0x0f]],
    ["the end of a group that did not begin", [0x0c]],
    ["a group that does not end", [0x0b, 0x08, 0x01]],
    ["groups without end", Array(1_000).fill(0x0b)],
    ["a text that is not UTF-8", [0x0a, 0x02, 0xc3, 0x28]],
  ])("%s is refused", (_, bytes) => {
    expect(() => decodeRequest(Buffer.from(bytes as number[]))).toThrow(MalformedError);
  });

  it("the replacement character itself is text like any other", () => {
    const request = { domain: "a\uFFFDb", descriptors: [], hits: 0 };
    expect(decodeRequest(encodeRequest(request))).toEqual(request);
  });

  it("a number of ten bytes counts by its low 32 bits", () => {
    const bytes = [0x18, 0x85, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01];
    expect(decodeRequest(Buffer.from(bytes)).hits).toBe(5);
  });
});
