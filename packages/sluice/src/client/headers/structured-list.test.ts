import { describe, expect, it } from "vitest";
import { FIELD_LENGTH_MAX, ITEMS_MAX, parseList } from "./structured-list.js";

const valuesOf = (field: string) => parseList(field)?.map(({ value }) => value);

describe("parseList", () => {
  it.each([
    ["", []],
    ['"hour";q=1000;w=3600, "day";q=5000', ["hour", "day"]],
    ["a, b;c", ["a", "b"]],
    ["1, -2, 3.5", [1, -2, 3.5]],
    ["?1, ?0", [true, false]],
    ["@1659578233", [1659578233]],
    ['%"f%c3%bc"', ["fü"]],
    ['"a \\"b\\" \\\\"', ['a "b" \\']],
    ["  a ,\tb  ", ["a", "b"]],
  ])("reads %j", (field, values) => {
    expect(valuesOf(field)).toEqual(values);
  });

  it("reads parameters, of which the last of one name counts", () => {
    const [item] = parseList('"a";r=1;pk=:AQID:;x;r=2; y="z"') ?? [];
    expect(Object.fromEntries(item?.parameters ?? [])).toEqual({
      r: 2,
      pk: new Uint8Array([1, 2, 3]),
      x: true,
      y: "z",
    });
  });

  it.each([
    ["an unfinished string", '"a'],
    ["a comma at the end", "a,"],
    ["two commas", "a,,b"],
    ["an inner list", "(a b)"],
    ["a dictionary", "limit=100, remaining=50"],
    ["a number that is too long", "1234567890123456"],
    ["a fraction that is too long", "1.2345"],
    ["a number that ends with a dot", "1."],
    ["letters that are not ASCII", '"ü"'],
    ["an upper-case key", "a;R=1"],
    ["bytes that are not base64", ":a:"],
    ["a line break", "a\n"],
    ["an exponent", "1e9"],
    ["a display string that is not UTF-8", '%"%ff"'],
  ])("does not read %s", (_what, field) => {
    expect(parseList(field)).toBeUndefined();
  });

  it("does not read fields beyond its bounds", () => {
    expect(valuesOf(Array(ITEMS_MAX).fill("a").join(","))).toHaveLength(ITEMS_MAX);
    expect(
      parseList(
        Array(ITEMS_MAX + 1)
          .fill("a")
          .join(","),
      ),
    ).toBeUndefined();
    expect(parseList(`"${"a".repeat(FIELD_LENGTH_MAX)}"`)).toBeUndefined();
    expect(
      parseList(`a${Array.from({ length: 40 }, (_, i) => `;k${i}`).join("")}`),
    ).toBeUndefined();
  });
});
