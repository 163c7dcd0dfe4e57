import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { toSpelling } from "../spelling.js";
import { type BodyForm, parseBody, toBodyForm, toFields } from "./body.js";

function parse(form: BodyForm, text: string) {
  const fields = parseBody(form, new TextEncoder().encode(text));
  return fields === undefined ? undefined : { ...fields };
}

describe("the form of a body", () => {
  it.each<[string | undefined, string | undefined, BodyForm | undefined]>([
    ["application/json", undefined, "json"],
    ["Application/JSON; charset=UTF-8", undefined, "json"],
    ['application/json;charset="utf-8"', undefined, "json"],
    ["application/problem+json", undefined, "json"],
    ["application/x-www-form-urlencoded", undefined, "form"],
    ["application/x-www-form-urlencoded; charset=utf8", "identity", "form"],
    ["application/json; charset=utf-16", undefined, undefined],
    ["application/json; a=b; charset=latin1", undefined, undefined],
    ['application/json; a="; charset=latin1"', undefined, "json"],
    ['application/json; a="\\"; charset=latin1"', undefined, "json"],
    ['application/json; a="b"; charset=latin1', undefined, undefined],
    ['application/json; charset="ut\\f-8"', undefined, "json"],
    ['application/json; a="b', undefined, "json"],
    ["application/json", "gzip", undefined],
    ["multipart/form-data; boundary=x", undefined, undefined],
    ["text/plain", undefined, undefined],
    ["application/jsonx", undefined, undefined],
    ["", undefined, undefined],
    [undefined, undefined, undefined],
  ])("of %j with encoding %j is %j", (type, encoding, form) => {
    expect(toBodyForm(type, encoding)).toBe(form);
  });
});

describe("the fields of a body", () => {
  it.each<[BodyForm, string, Record<string, unknown> | undefined]>([
    ["json", '{"account":"ann","n":1}', { account: "ann", n: 1 }],
    ["json", '{"a":"1","a":"2"}', { a: "2" }],
    ["json", '\ufeff{"a":1}', { a: 1 }],
    ["json", '{"user":"1","User":"2","b":3}', { b: 3 }],
    ["json", '{"user":"1"," user":"2","USER ":"2"}', {}],
    ["json", '{"user":"1","u\u017fer":"2","b":3}', { b: 3 }],
    ["json", '{"key":"1","\u212aey":"2","b":3}', { b: 3 }],
    ["json", "[1]", undefined],
    ["json", "null", undefined],
    ["json", '"a"', undefined],
    ["json", "{", undefined],
    ["json", "", undefined],
    ["json", "[".repeat(16_000), undefined],
    ["form", "account=ann&x=1+2&y=%C3%A9", { account: "ann", x: "1 2", y: "é" }],
    ["form", "a=1&a=2&b=3", { b: "3" }],
    ["form", "a=1&a=1&a=1", {}],
    ["form", "%61=1&a=2", {}],
    ["form", "a=1&A=2&b=3", { b: "3" }],
    ["form", "a=1&+a=2&a%20=2", {}],
    ["form", "a=1&a=2&A=3", {}],
    ["form", "my_id=1&my.id=2&b=3", { b: "3" }],
    ["form", "my_id=1&my%20id=2&my+id=2", {}],
    ["form", "my_id=1&my%5Bid=2", {}],
    ["form", "a=1&a%00x=2&b=3", { b: "3" }],
    ["form", "a[x]=1&a[y]=2", { "a[x]": "1", "a[y]": "2" }],
    ["json", '{"my_id":1,"my.id":2}', { my_id: 1, "my.id": 2 }],
    ["form", "", {}],
    ["form", "a", { a: "" }],
  ])("of the %s %j are %j", (form, text, fields) => {
    expect(parse(form, text)).toEqual(fields);
  });

  it("are read as applications read them where bytes are not UTF-8", () => {
    const bytes = Buffer.concat([
      Buffer.from('{"account":"ann","x":"'),
      Buffer.of(0xff),
      Buffer.from('"}'),
    ]);
    expect({ ...parseBody("json", bytes) }).toEqual({ account: "ann", x: "\ufffd" });
    expect({ ...parseBody("form", Buffer.of(0x61, 0x3d, 0xff)) }).toEqual({ a: "\ufffd" });
  });

  it.each<[BodyForm, string]>([
    ["json", '{"__proto__":{"admin":"yes"},"constructor":"c"}'],
    ["form", "__proto__=p&constructor=c"],
  ])("have no special names in %s", (form, text) => {
    const fields = parseBody(form, new TextEncoder().encode(text));
    expect(Object.keys(fields ?? {})).toEqual(["__proto__", "constructor"]);
    expect(fields?.constructor).toBe("c");
    expect(fields?.admin).toBeUndefined();
    expect(fields?.toString).toBeUndefined();
    expect({}).not.toHaveProperty("admin");
  });

  it("are read from what a framework parsed only if it is a plain object", () => {
    expect({ ...toFields({ a: 1 }) }).toEqual({ a: 1 });
    expect({ ...toFields(Object.create(null, { a: { value: 1, enumerable: true } })) }).toEqual({
      a: 1,
    });
    for (const other of [[1], Buffer.from("a"), "a", 7, null, undefined, new Map(), new Date(0)]) {
      expect(toFields(other)).toBeUndefined();
    }
  });

  it("are those that JSON.parse sees, for any object that has no name in several spellings", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (object) => {
        const names = Object.keys(object).map(toSpelling);
        fc.pre(new Set(names).size === names.length);
        const text = JSON.stringify(object);
        expect(parse("json", text)).toEqual({ ...(JSON.parse(text) as object) });
      }),
    );
  });

  it("never throw, whatever the bytes are", () => {
    fc.assert(
      fc.property(fc.uint8Array(), fc.constantFrom<BodyForm>("json", "form"), (bytes, form) => {
        parseBody(form, bytes);
      }),
    );
  });
});
