import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { timesFactor } from "../../../test/traces.js";
import { numberIn } from "../../rules/json-sum.js";
import type { JsonPath } from "../../rules/rule.js";
import { BodyMeter } from "./body-meter.js";

/** How many bodies each property reads. */
const RUNS = timesFactor(600);

const PATHS: readonly JsonPath[] = [
  ["usage", "total"],
  ["usage"],
  ["total"],
  ["usage", "usage", "é"],
  ["__proto__", "total"],
];

/** Names that can be searched for, so that events without them are skipped. */
const PLAIN_PATHS: readonly JsonPath[] = [["usage", "total"], ["total"]];

/** What a body says at each path if it is read in these pieces; and what is wrong with it. */
function meter(
  contentType: string,
  body: Uint8Array,
  cuts: readonly number[],
  paths: readonly JsonPath[] = PATHS,
) {
  const found = new BodyMeter([paths.map((path) => [path])], {
    contentType,
    contentEncoding: undefined,
  });
  const places = [...new Set(cuts.map((cut) => cut % (body.length + 1)))].sort((a, b) => a - b);
  let from = 0;
  for (const to of [...places, body.length]) {
    found.read(Buffer.from(body.subarray(from, to)));
    from = to;
  }
  found.end();
  return { values: paths.map((path) => found.numberAt(path)), problem: found.problem };
}

/** The same by `JSON.parse`. */
function parse(body: Uint8Array, paths: readonly JsonPath[] = PATHS) {
  try {
    const parsed: unknown = JSON.parse(new TextDecoder().decode(body));
    return { values: paths.map((path) => toUnits(numberIn(parsed, path))), problem: undefined };
  } catch {
    return { values: paths.map(() => undefined), problem: "malformed" };
  }
}

function toUnits(number: number | undefined): number | undefined {
  return Number.isSafeInteger(number) && (number as number) >= 0 ? number : undefined;
}

/** A name as JSON may write it: some characters as escapes. */
function toName(name: string, escaped: readonly boolean[]): string {
  const write = (character: string, i: number) => {
    const code = character.charCodeAt(0).toString(16).padStart(4, "0");
    return escaped[i % escaped.length] ? `\\u${code}` : JSON.stringify(character).slice(1, -1);
  };
  return `"${name.split("").map(write).join("")}"`;
}

const space = fc.constantFrom("", "", " ", "\n", "\t \r\n");
const name = fc
  .tuple(
    fc.oneof(fc.constantFrom("usage", "total", "é", "__proto__", "usag", "totals"), fc.string()),
    fc.array(fc.constantFrom(false, false, true), { minLength: 1, maxLength: 4 }),
  )
  .map(([text, escaped]) => toName(text, escaped));
const number = fc.oneof(
  fc.nat().map(String),
  fc.double().map((value) => JSON.stringify(value)),
  fc.constantFrom("-0", "1e3", "1E+2", "12.0", "1.5e1", "1e400", "-7", "0.0", "9007199254740993"),
);
const scalar = fc.oneof(
  number,
  fc.string({ unit: "grapheme" }).map((text) => JSON.stringify(text)),
  fc.constantFrom("true", "false", "null", '"\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9"'),
);
/** The text of a JSON value: names that repeat, escapes and white space everywhere. */
const { value: json } = fc.letrec<{ value: string; list: string; object: string }>((tie) => ({
  value: fc.oneof({ maxDepth: 5 }, scalar, tie("object"), tie("object"), tie("list")),
  list: fc
    .tuple(fc.array(tie("value"), { maxLength: 3 }), space)
    .map(([items, gap]) => `[${gap}${items.join(`${gap},`)}${gap}]`),
  object: fc
    .tuple(fc.array(fc.tuple(name, tie("value")), { maxLength: 5 }), space)
    .map(
      ([fields, gap]) =>
        `{${gap}${fields.map(([key, value]) => `${key}${gap}:${gap}${value}${gap}`).join(`,${gap}`)}}`,
    ),
}));
const cuts = fc.array(fc.nat(), { maxLength: 12 });
const bytesOf = (text: string) => new TextEncoder().encode(text);

describe("a JSON body that is read in pieces", () => {
  it("says what JSON.parse says of the whole", () => {
    fc.assert(
      fc.property(json, fc.boolean(), cuts, (text, hasMark, at) => {
        const body = bytesOf(`${hasMark ? "\uFEFF" : ""}${text}`);
        expect(meter("application/json", body, at)).toEqual(parse(body));
      }),
      { numRuns: RUNS },
    );
  });

  it("is malformed exactly if JSON.parse refuses it", () => {
    const damage = fc.tuple(fc.nat(), fc.nat(3), fc.constantFrom(...'{}[],:"\\01e+-.tn \n\x01é'));
    fc.assert(
      fc.property(json, damage, cuts, (text, [at, removed, added], cutAt) => {
        const place = at % (text.length + 1);
        const body = bytesOf(text.slice(0, place) + added + text.slice(place + removed));
        const { values, problem } = meter("application/json", body, cutAt);
        const expected = parse(body);
        expect(problem).toBe(expected.problem);
        if (problem === undefined) expect(values).toEqual(expected.values);
      }),
      { numRuns: RUNS },
    );
  });
});

/** The data of the events of a stream by the HTML standard; the last one counts without its empty line too. */
function eventsOf(text: string): string[] {
  const lines = text.replace(/^\uFEFF/, "").split(/\r\n|\n|\r/);
  const events: string[] = [];
  let data: string[] = [];
  for (const line of [...lines, ""]) {
    if (line === "") {
      if (data.length > 0) events.push(data.join("\n"));
      data = [];
    } else if (line === "data") data.push("");
    else if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
  }
  return events;
}

/** What a stream says, event by event with JSON.parse. */
function parseEvents(text: string, paths: readonly JsonPath[]) {
  const values: (number | undefined)[] = paths.map(() => undefined);
  for (const data of eventsOf(text)) {
    const { values: found } = parse(bytesOf(data.replace(/^\uFEFF/, "x")), paths);
    for (const [i, value] of found.entries()) if (value !== undefined) values[i] = value;
  }
  return { values, problem: undefined };
}

const lineEnd = fc.constantFrom("\n", "\n", "\r\n", "\r\n", "\r");
const otherLine = fc.constantFrom(
  ": ping",
  "event: delta",
  "id: 1",
  "data",
  "dat: 1",
  "datax: {}",
  ":",
);
const dataLine = fc
  .tuple(fc.constantFrom("data:", "data: ", "data:  "), fc.oneof(json, fc.constant("[DONE]")))
  .map(([field, text]) => text.split("\n").map((line) => `${field}${line}`));
const event = fc
  .tuple(fc.array(otherLine, { maxLength: 2 }), dataLine, lineEnd, lineEnd)
  .map(([others, data, end, last]) => [...others, ...data].join(end) + end + last);
const stream = fc
  .tuple(fc.constantFrom("", "", "\uFEFF"), fc.array(event, { maxLength: 10 }), fc.nat(20))
  .map(([mark, events, cut]) => {
    const text = mark + events.join("");
    return cut > 15 ? text.slice(0, text.length - (cut - 15)) : text;
  });

describe("a stream of events that is read in pieces", () => {
  it.each([
    ["names that are searched for", PLAIN_PATHS],
    ["names that are not", PATHS],
  ])("says what JSON.parse says of each event, the last one that has a field: %s", (_, paths) => {
    fc.assert(
      fc.property(stream, cuts, (text, at) => {
        const found = meter("text/event-stream; charset=utf-8", bytesOf(text), at, paths);
        expect(found).toEqual(parseEvents(text, paths));
      }),
      { numRuns: RUNS },
    );
  });
});

/** What lines say, line by line with JSON.parse. */
function parseLines(text: string) {
  const values: (number | undefined)[] = PATHS.map(() => undefined);
  for (const line of text.replace(/^\uFEFF/, "").split("\n")) {
    const { values: found } = parse(bytesOf(line.replace(/^\uFEFF/, "x")), PATHS);
    for (const [i, value] of found.entries()) if (value !== undefined) values[i] = value;
  }
  return { values, problem: undefined };
}

const line = fc
  .tuple(fc.oneof(json, fc.constant("[DONE]"), fc.constant("")), fc.constantFrom("\n", "\r\n"))
  .map(([text, end]) => text.replaceAll("\n", " ") + end);
const lines = fc
  .tuple(fc.constantFrom("", "", "\uFEFF", "\uFEFE"), fc.array(line, { maxLength: 10 }), fc.nat(20))
  .map(([mark, all, cut]) => {
    const text = mark + all.join("");
    return cut > 15 ? text.slice(0, text.length - (cut - 15)) : text;
  });

describe("lines of JSON that are read in pieces", () => {
  it("say what JSON.parse says of each line, the last one that has a field", () => {
    fc.assert(
      fc.property(lines, cuts, (text, at) => {
        expect(meter("application/x-ndjson", bytesOf(text), at, PATHS)).toEqual(parseLines(text));
      }),
      { numRuns: RUNS },
    );
  });
});
