// Whatever a server has claimed in its headers, the client is not stopped for longer than the hour that a header may make it
// wait, even if the server never reports anything again.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { reset, settle, setup } from "./stubbed-client.js";

const HOUR_MS = 3_600_000;
/** The random times after a reset, and after a pause that the server asked for. */
const JITTER_MS = 30_000;

const number = fc.oneof(
  fc.constantFrom("0", "1", "-1", "NaN", "1e9", "999999999999999", "99999999999999999999", ""),
  fc.integer({ min: 0, max: 10_000 }).map(String),
  fc.integer({ min: 1_799_990_000, max: 1_800_010_000 }).map(String),
  fc.constantFrom("Fri, 15 Jan 2027 09:00:00 GMT", "Thu, 01 Jan 1970 00:00:00 GMT", "6m0s"),
);
const name = fc.constantFrom("a", "b", "");
const fields = fc.oneof(
  fc.constant({}),
  fc
    .tuple(fc.array(fc.tuple(name, number, number), { maxLength: 3 }), number, number)
    .map(([states, limit, windowSeconds]) => ({
      ratelimit: states.map(([id, r, t]) => `"${id}";r=${r};t=${t}`).join(", "),
      "ratelimit-policy": `"a";q=${limit};w=${windowSeconds}, "b";q=${limit};qu="tokens"`,
    })),
  fc.tuple(number, number, number).map(([limit, remaining, time]) => ({
    "x-ratelimit-limit": limit,
    "x-ratelimit-remaining": remaining,
    "x-ratelimit-reset": time,
  })),
  fc.tuple(number, number, number).map(([limit, remaining, time]) => ({
    "ratelimit-limit": limit,
    "ratelimit-remaining": remaining,
    "ratelimit-reset": time,
  })),
);
const answer = fc.record({
  status: fc.constantFrom(200, 200, 200, 304, 403, 429, 500, 503),
  fields,
  retryAfter: fc.option(number, { nil: undefined }),
  date: fc.option(fc.constantFrom("Fri, 15 Jan 2027 08:00:00 GMT", "never"), { nil: undefined }),
  age: fc.option(number, { nil: undefined }),
  isBroken: fc.constantFrom(false, false, false, true),
  path: fc.integer({ min: 0, max: 3 }),
  pauseMs: fc.constantFrom(0, 0, 10, 1_000, 60_000),
});

describe("a client of a server that has claimed anything", () => {
  it("sends again without delay an hour later, though nothing is reported any more", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(answer, { minLength: 1, maxLength: 30 }), async (answers) => {
        let next = 0;
        const { fetch, clock, sent } = setup(
          () => {
            const given = answers[next++];
            if (given === undefined) return new Response("");
            if (given.isBroken) return reset();
            const headers = new Headers(given.fields as Record<string, string>);
            if (given.retryAfter !== undefined) headers.set("retry-after", given.retryAfter);
            if (given.date !== undefined) headers.set("date", given.date);
            if (given.age !== undefined) headers.set("age", given.age);
            return new Response(null, { status: given.status, headers });
          },
          { retriesMax: 0, deadlineMs: 5_000, paceMsMax: 0 },
        );
        const ask = (path: number) => {
          fetch(`https://api.example.com/${path}`).catch(() => {});
        };
        for (const { path, pauseMs } of answers) {
          ask(path);
          await settle();
          clock.advance(pauseMs);
          await settle();
        }
        clock.advance(5_000);
        await settle();
        // What was not sent is not claimed any more either.
        next = answers.length;
        clock.advance(HOUR_MS + JITTER_MS);
        const before = sent.length;
        for (let i = 0; i < 20; i++) {
          ask(i % 5);
          await settle();
          expect(sent.length).toBe(before + i + 1);
        }
      }),
      { numRuns: 200 },
    );
  });
});
