import { expect, it } from "vitest";
import { CSV_COLUMNS, type ExportFormat, toExport } from "./entry-export.js";
import type { AccountEntry } from "./entry-pages.js";

const ENTRY: AccountEntry = {
  accountId: "a-1",
  sequence: 2,
  kind: "use",
  amount: -5,
  balance: 995,
  idempotencyKey: "request:42",
  settles: undefined,
  actor: "node-1",
  atMs: Date.UTC(2026, 4, 1),
  details: undefined,
  previousHash: "h",
  meter: "exports",
  part: 0,
  subject: "tenant:acme",
  periodStartMs: Date.UTC(2026, 4, 1),
  periodEndMs: Date.UTC(2026, 5, 1),
};

async function exported(format: ExportFormat, ...pages: AccountEntry[][]): Promise<string> {
  async function* source() {
    yield* pages;
  }
  let text = "";
  for await (const piece of toExport(source(), format)) text += piece;
  return text;
}

/** The cells of one line of CSV, as RFC 4180 has them. */
function cellsOf(line: string): string[] {
  return [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,"]*))/g)].map(([, quoted, bare]) =>
    quoted === undefined ? bare : quoted.replaceAll('""', '"'),
  );
}

it("writes a line for each entry, with as many cells as there are columns", async () => {
  const [head, line, ...rest] = (await exported("csv", [ENTRY])).split("\r\n");
  expect(head).toBe(CSV_COLUMNS.join(","));
  expect(rest).toEqual([""]);
  expect(line).toBe(
    "2026-05-01T00:00:00.000Z,exports,0,tenant:acme,2026-05-01T00:00:00.000Z,2026-06-01T00:00:00.000Z," +
      "a-1,2,use,-5,995,request:42,,node-1,,,h",
  );
});

it("disarms what a spreadsheet would run, and leaves numbers as they are", async () => {
  const formulas = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", " =1", "|calc", "%0A=1"];
  for (const formula of formulas) {
    const details = { reason: formula };
    const entry = { ...ENTRY, idempotencyKey: formula, actor: formula, subject: formula, details };
    const text = (await exported("csv", [entry])).split("\r\n").slice(1, -1).join("\r\n");
    const cells = cellsOf(text);
    expect(cells).toHaveLength(CSV_COLUMNS.length);
    for (const place of [3, 11, 13, 14]) expect(cells[place]).toBe(`'${formula}`);
    expect(cells[9]).toBe("-5");
  }
});

it("quotes what would break a line, so that it reads back as it was", async () => {
  const idempotencyKey = 'a "b", c\nd\r\ne';
  const text = await exported("csv", [{ ...ENTRY, idempotencyKey }]);
  const line = text.slice(text.indexOf("\r\n") + 2, -2);
  expect(cellsOf(line)[11]).toBe(idempotencyKey);
});

it("writes one JSON list, also an empty one, over any number of pages", async () => {
  expect(JSON.parse(await exported("json"))).toEqual([]);
  const three = await exported("json", [ENTRY], [ENTRY, { ...ENTRY, settles: 1 }]);
  expect(JSON.parse(three)).toHaveLength(3);
  expect(JSON.parse(three)[2]).toMatchObject({ settles: 1, details: null, sequence: 2 });
  expect(three.trimEnd().split("\n")).toHaveLength(5);
});

it("writes NDJSON as a line of JSON for each entry, and nothing for none", async () => {
  expect(await exported("ndjson")).toBe("");
  const idempotencyKey = "a\nb";
  const text = await exported("ndjson", [ENTRY], [{ ...ENTRY, idempotencyKey, settles: 1 }]);
  const lines = text.trimEnd().split("\n");
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { sequence: 2, settles: null },
    { idempotencyKey, settles: 1 },
  ]);
  expect(text.endsWith("\n")).toBe(true);
});
