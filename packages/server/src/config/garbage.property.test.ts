import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { goodFile } from "../../test/config/bad-cases.js";
import { ServerError } from "../base/errors.js";
import { fileSection } from "./description/file.js";
import { toNode } from "./description/walk.js";
import { listVariables } from "./environment/variable-names.js";
import { parseConfig, toConfig } from "./load.js";

type AnyShape = Parameters<typeof toNode>[0];

/** Runs it: what it throws must be an error of the service, on lines that nothing forged. */
function survives(run: () => unknown): void {
  try {
    run();
  } catch (error) {
    if (!(error instanceof ServerError)) throw error;
    expect(error.message).toMatch(/^the configuration can't be used: \S/);
    for (const line of error.message.split("\n").slice(1)) expect(line).toMatch(/^ {2}\S/);
  }
}

const scalar = fc.oneof(
  fc.constantFrom(
    null,
    true,
    false,
    "",
    "true",
    "1",
    "10s",
    ":8080",
    "/*",
    "app",
    "memory",
    "redis",
  ),
  fc.constantFrom(
    "http://127.0.0.1:1",
    "\u0024{X}",
    "\u0024{X:-1}",
    "__proto__",
    "a\nb",
    "loopback",
  ),
  fc.integer(),
  fc.double(),
  fc.string(),
);

/** Something of the shape that the description has, with mistakes in it. */
function likeShape(shape: AnyShape): fc.Arbitrary<unknown> {
  const node = toNode(shape);
  const mistake = { weight: 1, arbitrary: fc.anything() };
  if (node.kind === "value") return fc.oneof({ weight: 6, arbitrary: scalar }, mistake);
  if (node.kind === "section") {
    const fields = Object.entries(node.fields).map(([name, field]) => [
      name,
      likeShape(field.shape),
    ]);
    const arbitrary = fc.record(
      { ...(Object.fromEntries(fields) as Record<string, fc.Arbitrary<unknown>>), nothing: scalar },
      { requiredKeys: [] },
    );
    return fc.oneof({ weight: 9, arbitrary }, mistake);
  }
  const entry = likeShape(node.entry);
  const arbitrary =
    node.kind === "map"
      ? fc.dictionary(fc.oneof(fc.constant("app"), fc.string()), entry, { maxKeys: 3 })
      : fc.array(entry, { maxLength: 3 });
  return fc.oneof({ weight: 9, arbitrary }, mistake);
}

const environment = fc.dictionary(
  fc.oneof(
    fc.constantFrom(...listVariables({ upstreams: { app: {} } })),
    fc.string().map((text) => `SLUICE_${text}`),
  ),
  fc.oneof(fc.string(), scalar.map(String)),
  { maxKeys: 4 },
);

describe("whatever it is given", () => {
  it("throws nothing but a ServerError for any string", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.string({ unit: "grapheme" })), (text) => {
        survives(() => parseConfig(text, { file: "sluice.yaml" }));
      }),
      { numRuns: 500 },
    );
  });

  it("throws nothing but a ServerError for a good text with a piece cut out or put in", () => {
    const piece = fc.oneof(
      fc.string(),
      fc.constantFrom("{", "}", "[", ":", "- ", "\n", "&a", "*a", "<<: "),
    );
    fc.assert(
      fc.property(fc.nat(goodFile.length), fc.nat(20), piece, (start, length, put) => {
        const text = goodFile.slice(0, start) + put + goodFile.slice(start + length);
        survives(() => parseConfig(text, { file: "sluice.yaml" }));
      }),
      { numRuns: 500 },
    );
  });

  it("throws nothing but a ServerError for any value and any environment", () => {
    fc.assert(
      fc.property(likeShape(fileSection), environment, (value, env) => {
        survives(() => toConfig(value as object, { env }));
      }),
      { numRuns: 500 },
    );
  });

  it("throws nothing but a ServerError for any JSON where a section belongs", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        survives(() => parseConfig(stringify({ gateway: value }), { file: "sluice.yaml" }));
      }),
      { numRuns: 200 },
    );
  });

  it("is not held up by aliases that multiply", () => {
    const lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"];
    for (let i = 1; i < 12; i += 1) {
      lines.push(`a${i}: &a${i} [${Array.from({ length: 10 }, () => `*a${i - 1}`).join(", ")}]`);
    }
    expect(() => parseConfig(lines.join("\n"))).toThrow(ServerError);
  });

  it("is not held up by a map that holds itself, nor by one that is very deep", () => {
    expect(() => parseConfig("gateway: &a { listen: *a }")).toThrow(ServerError);
    expect(() => parseConfig("[".repeat(100_000))).toThrow(ServerError);
    expect(() => parseConfig(`a: ${"[".repeat(500)}${"]".repeat(500)}`)).toThrow(ServerError);
  });
});
