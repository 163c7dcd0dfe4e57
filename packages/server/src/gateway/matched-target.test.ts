// What a rule matches is the canonical request target, which is what the gateway forwards.

import fc from "fast-check";
import { fixedWindow } from "sluice";
import { createPolicy, parseRules } from "sluice/rules";
import { readRequestTarget } from "sluice-http1";
import { describe, expect, it } from "vitest";

describe("the policy", () => {
  const segments = ["a", "b"];
  const paths = ["/", ...segments.flatMap((x) => [`/${x}`, ...segments.map((y) => `/${x}/${y}`)])];
  const rules = paths.map((path, i) => ({
    id: `r${i}`,
    match: { path },
    key: "global",
    limit: fixedWindow({ limit: 1_000_000, windowMs: 60_000 }),
  }));
  const odd = fc.constantFrom(
    "a",
    "b",
    ".",
    "..",
    "",
    "%61",
    "%62",
    "%2e",
    "%2E%2e",
    "A",
    "./",
    "..//",
  );
  const written = fc.tuple(
    fc.array(odd, { maxLength: 8 }),
    fc.constantFrom("", "/", "?x=/a/../b", "/?//b"),
  );

  it("reads exactly one path out of a canonical target, however the request wrote it", async () => {
    const policy = createPolicy({ rules: parseRules({ version: 1, rules }) });
    await fc.assert(
      fc.asyncProperty(written, async ([parts, end]) => {
        const read = readRequestTarget(`/${parts.join("/")}${end}`);
        expect(read).toBeDefined();
        const { results } = await policy.peek({ method: "GET", path: read?.target ?? "" });
        const path = read?.path.toLowerCase().replace(/(?<=.)\/$/, "") ?? "";
        const expected = paths.includes(path) ? [`r${paths.indexOf(path)}`] : [];
        expect(results.map(({ rule }) => rule)).toEqual(expected);
      }),
      { numRuns: 1_000 },
    );
    await policy.close();
  });
});
