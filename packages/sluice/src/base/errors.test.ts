import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import {
  errorCatalogue,
  SluiceError,
  type SluiceErrorCode,
  type SluiceWarningCode,
  show,
  warn,
  warningCatalogue,
} from "./errors.js";

const page = readFileSync(
  join(import.meta.dirname, "../../../../docs/reference/errors.md"),
  "utf8",
).replace(/^```[\s\S]*?^```$/gm, "");
const warnings = Object.keys(warningCatalogue) as SluiceWarningCode[];
const codes = Object.keys(errorCatalogue) as SluiceErrorCode[];

describe("docs/reference/errors.md", () => {
  const [errorsPage, warningsPage] = page.split(/^## Warnings$/m);
  const [, ...sections] = errorsPage.split(/^## /m);
  const documented = new Map(sections.map((text) => [text.split("\n", 1)[0] as string, text]));

  it("has a section for every code, in the catalogue's order, and for nothing else", () => {
    expect(sections.map((text) => text.split("\n", 1)[0])).toEqual(codes);
  });

  it.each(codes)("says status, summary, when and what to do of %s", (code) => {
    const { status, summary } = errorCatalogue[code];
    const [, statusLine, when, whatToDo] = (documented.get(code) ?? "").trim().split("\n\n");
    expect(statusLine).toBe(`${status}: ${summary}`);
    expect(when).toMatch(/^\*\*When:\*\* \S/);
    expect(whatToDo).toMatch(/^\*\*What to do:\*\* \S/);
  });

  it("names no code that does not exist", () => {
    const named = new Set(page.match(/SLUICE_\w+/g));
    const known = { ...errorCatalogue, ...warningCatalogue };
    expect([...named].filter((code) => !(code in known))).toEqual([]);
  });

  it("has a section for every warning, with its summary, in the catalogue's order", () => {
    const [, ...expected] = warningsPage.split(/^### /m);
    const heads = expected.map((text) => text.split("\n\n", 2));
    expect(heads).toEqual(warnings.map((code) => [code, warningCatalogue[code]]));
  });
});

describe("the catalogue", () => {
  it.each(codes)("gives %s an HTTP status of misuse or failure", (code) => {
    expect(code).toMatch(/^SLUICE_[A-Z]+(_[A-Z]+)*$/);
    expect(errorCatalogue[code].status).toBeGreaterThanOrEqual(400);
    expect(errorCatalogue[code].status).toBeLessThan(600);
  });
});

describe("SluiceError", () => {
  it("carries its code and status, and says what was seen after the summary", () => {
    const error = new SluiceError("SLUICE_COST_INVALID", `got ${show("ten")}`);
    expect(error).toBeInstanceOf(Error);
    expect(error.name).toBe("SluiceError");
    expect(error.code).toBe("SLUICE_COST_INVALID");
    expect(error.status).toBe(400);
    expect(error.message).toBe('cost must be a whole number from 0 to 2^53 - 1: got "ten"');
    expect(String(error)).toBe(`SluiceError: ${error.message}`);
  });
});

describe("warn", () => {
  it("warns by way of the process, with the code, the summary and what was seen", () => {
    const emit = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    warn("SLUICE_RULES", "no such file");
    expect(emit.mock.calls).toEqual([
      [
        "the rules in force stay unchanged: no such file",
        { type: "SluiceWarning", code: "SLUICE_RULES" },
      ],
    ]);
    emit.mockRestore();
  });

  it("warns on the console where the platform has no process", () => {
    const log = vi.spyOn(console, "warn").mockImplementation(() => {});
    vi.stubGlobal("process", undefined);
    warn("SLUICE_RULES", "no such file");
    vi.unstubAllGlobals();
    expect(log.mock.calls).toEqual([
      ["[SLUICE_RULES] SluiceWarning: the rules in force stay unchanged: no such file"],
    ]);
    log.mockRestore();
  });
});

describe("show", () => {
  const cycle: { self?: unknown } = {};
  cycle.self = cycle;
  const loop: unknown[] = [];
  loop.push(loop);
  const throwing = {
    toJSON() {
      throw new Error("no");
    },
  };

  it.each([
    ["a number", 1.5, "1.5"],
    ["NaN, which JSON would hide", Number.NaN, "NaN"],
    ["an infinite number, which JSON would hide", Number.NEGATIVE_INFINITY, "-Infinity"],
    ["null", null, "null"],
    ["undefined", undefined, "undefined"],
    ["a boolean", true, "true"],
    ["a string, in quotes: it could be taken for a number", "1", '"1"'],
    ["an empty string", "", '""'],
    ["a bigint, distinct from a number", 10n, "10n"],
    ["a symbol", Symbol("key"), 'a symbol "key"'],
    ["a function", () => 1, "a function"],
    ["an object", { cost: 1 }, '{"cost":1}'],
    ["an array", [1, "2"], '[1,"2"]'],
    ["a cyclic object", cycle, "an object"],
    ["a cyclic array", loop, "an array"],
    ["an object with a bigint inside", { cost: 1n }, "an object"],
    ["an object whose toJSON throws", throwing, "an object"],
    ["an object whose toJSON returns nothing", { toJSON() {} }, "object"],
    ["an object without a prototype", Object.create(null), "{}"],
  ])("renders %s", (_what, value, shown) => {
    expect(show(value)).toBe(shown);
  });

  it("keeps a message on one line, so that a key can't forge a line of a log", () => {
    expect(show("a\nERROR: b\r\u0000")).toBe('"a\\nERROR: b\\r\\u0000"');
    expect(show({ key: "a\nb" })).toBe('{"key":"a\\nb"}');
    expect(show(Symbol("a\nb"))).not.toContain("\n");
  });

  it.each([
    ["string", "x".repeat(10_000)],
    ["object", { key: "x".repeat(10_000) }],
    ["array", new Array(10_000).fill(1)],
    ["symbol", Symbol("x".repeat(10_000))],
    ["bigint", 10n ** 5_000n],
  ])("shortens a long %s", (_what, value) => {
    expect(show(value).length).toBeLessThan(100);
    expect(show(value)).toContain("…");
  });

  it("leaves a string of exactly 80 characters whole", () => {
    expect(show("x".repeat(80))).toBe(JSON.stringify("x".repeat(80)));
    expect(show("x".repeat(81))).toBe(JSON.stringify(`${"x".repeat(80)}…`));
  });
});
