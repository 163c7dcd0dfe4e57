import { readFileSync } from "node:fs";
import { join } from "node:path";
import { errorCatalogue } from "sluice";
import { describe, expect, it } from "vitest";
import { ServerError, type ServerErrorCode, serverErrorCatalogue, show } from "./errors.js";

const codes = Object.keys(serverErrorCatalogue) as ServerErrorCode[];
const page = readFileSync(
  join(import.meta.dirname, "../../../../docs/reference/service-errors.md"),
  "utf8",
);

describe("docs/reference/service-errors.md", () => {
  const [, ...sections] = page.split(/^## /m);
  const documented = new Map(sections.map((text) => [text.split("\n", 1)[0], text]));

  it("has a section for every code, in the catalogue's order, and for nothing else", () => {
    expect([...documented.keys()]).toEqual(codes);
  });

  it.each(codes)("says status, summary, when and what to do of %s", (code) => {
    const { status, summary } = serverErrorCatalogue[code];
    const [, statusLine, when, whatToDo] = (documented.get(code) ?? "").trim().split("\n\n");
    expect(statusLine).toBe(`${status}: ${summary}`);
    expect(when).toMatch(/^\*\*When:\*\* \S/);
    expect(whatToDo).toMatch(/^\*\*What to do:\*\* \S/);
  });
});

describe("the catalogue", () => {
  it.each(codes)("gives %s an HTTP status of misuse or failure", (code) => {
    expect(code).toMatch(/^SLUICE_[A-Z]+(_[A-Z]+)*$/);
    expect(serverErrorCatalogue[code].status).toBeGreaterThanOrEqual(400);
    expect(serverErrorCatalogue[code].status).toBeLessThan(600);
  });

  it("shares no code with the library's", () => {
    expect(codes.filter((code) => code in errorCatalogue)).toEqual([]);
  });
});

describe("ServerError", () => {
  it("carries its code, status and cause, and says what was seen after the summary", () => {
    const cause = new Error("EADDRINUSE");
    const error = new ServerError("SLUICE_LISTEN_FAILED", "127.0.0.1:80 is taken", { cause });
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({ name: "ServerError", code: "SLUICE_LISTEN_FAILED", status: 500 });
    expect(error.cause).toBe(cause);
    expect(error.message).toBe("can't listen on the address: 127.0.0.1:80 is taken");
  });

  it("has no cause where there is none", () => {
    expect("cause" in new ServerError("SLUICE_NOT_FOUND", "/x")).toBe(false);
  });
});

describe("show", () => {
  it.each<[string, unknown, string]>([
    ["a number", 1.5, "1.5"],
    ["NaN", Number.NaN, "NaN"],
    ["null", null, "null"],
    ["undefined", undefined, "undefined"],
    ["a boolean", false, "false"],
    ["a text, in quotes: it could be taken for a number", "1", '"1"'],
    ["a text of several lines, on one", "a\nb\u001b[2J", '"a\\nb\\u001b[2J"'],
    ["a long text, shortened", "x".repeat(100), `"${"x".repeat(80)}…"`],
    ["a bigint", 10n, "10n"],
    ["a symbol", Symbol("a"), "a symbol"],
    ["a function", () => 1, "a function"],
    ["a list, without what is in it", ["secret"], "a list"],
    ["an empty list", [], "an empty list"],
    ["a map, without what is in it", { token: "secret" }, "a map"],
  ])("renders %s", (_what, value, shown) => {
    expect(show(value)).toBe(shown);
  });
});
