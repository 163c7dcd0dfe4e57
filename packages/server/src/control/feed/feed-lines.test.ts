import { describe, expect, it } from "vitest";
import { LineSplitter, readStreamLine, SnapshotReader, toLine } from "./feed-lines.js";

const HEADER = { format: 1, sequence: 7, hash: "ab" };
const PLAN = { kind: "plan", id: "pro", sequence: 3, body: {} };

function readSnapshot(...lines: readonly object[]) {
  const reader = new SnapshotReader();
  for (const line of lines) reader.add(JSON.stringify(line));
  return reader.finish();
}

describe("a snapshot", () => {
  it("is read as it was sent", () => {
    expect(readSnapshot(HEADER, PLAN, { end: 1 })).toEqual({
      sequence: 7,
      hash: "ab",
      entities: [PLAN],
    });
  });

  it.each([
    ["a number that is a text", { ...HEADER, sequence: "7" }, PLAN],
    ["a hash that is a number", { ...HEADER, hash: 5 }, PLAN],
    ["an entity without a kind", HEADER, { ...PLAN, kind: undefined }],
    ["an entity whose id is a number", HEADER, { ...PLAN, id: 1 }],
    ["an entity without a number", HEADER, { ...PLAN, sequence: undefined }],
    ["an entity that says nothing", HEADER, { ...PLAN, body: null }],
    ["an entity that says a list", HEADER, { ...PLAN, body: [] }],
  ])("with %s is not used", (_what, header, entity) => {
    expect(() => readSnapshot(header, entity, { end: 1 })).toThrow("it sent the line");
  });
});

describe("a line of the stream", () => {
  const change = { sequence: 8, kind: "plan", entityId: "pro", after: {} };

  it.each([change, { ...change, after: undefined }, { heartbeat: { sequence: 8, atMs: 1 } }])(
    "is read: %j",
    (line) => {
      expect(readStreamLine(JSON.stringify(line))).toEqual(JSON.parse(JSON.stringify(line)));
    },
  );

  it.each([
    { ...change, entityId: 1 },
    { ...change, sequence: -1 },
    { ...change, after: null },
    { ...change, after: "text" },
    { heartbeat: null },
    { heartbeat: { sequence: "8" } },
    {},
  ])("is refused: %j", (line) => {
    expect(() => readStreamLine(JSON.stringify(line))).toThrow("it sent the line");
  });

  it("may have the longest rules that can be published, however they are escaped", () => {
    const text = "\u0001".repeat(4 << 20);
    const line = toLine({ ...change, kind: "rule-set", after: { status: "published", text } });
    const splitter = new LineSplitter();
    const half = line.length >> 1;
    expect(splitter.add(line.slice(0, half))).toEqual([]);
    expect(splitter.add(line.slice(half))).toHaveLength(1);
    expect(() => splitter.add("x".repeat(line.length * 2))).toThrow("a line of over");
  });
});
