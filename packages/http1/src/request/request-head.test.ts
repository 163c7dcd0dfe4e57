// Heads off a connection: the same, however the bytes arrive.

import { describe, expect, it } from "vitest";
import { cut } from "../../test/wire.js";
import type { MalformedMessage } from "../message/malformed-message.js";
import { RequestHeadReader } from "./request-head.js";

const BYTES_MAX = 200;
const FIELDS_MAX = 4;

/** What came of some pieces: the heads and what was left, or the status of a refusal. */
function read(pieces: readonly string[], bytesMax = BYTES_MAX): unknown {
  const reader = new RequestHeadReader(bytesMax, FIELDS_MAX);
  const heads: unknown[] = [];
  let rest = "";
  try {
    for (const piece of pieces) {
      const bytes = Buffer.from(piece, "latin1");
      let at = 0;
      while (at < bytes.length) {
        const head = reader.push(bytes, at);
        rest = "";
        if (head === undefined) break;
        at = head.end;
        heads.push([head.line, head.fields.raw]);
        rest = piece.slice(at);
      }
    }
  } catch (error) {
    return (error as MalformedMessage).status;
  }
  return { heads, rest };
}

const LINE = { method: "GET", target: "/a?b", minor: 1 };
const GET = "GET /a?b HTTP/1.1\r\nHost: a\r\nX-A:  b \r\n\r\n";
const READ = { heads: [[LINE, ["Host", "a", "X-A", "b"]]], rest: "" };

describe("a head", () => {
  it("is the same in one piece, in any two or three, and byte by byte", () => {
    expect(read([GET])).toEqual(READ);
    expect(read([...GET])).toEqual(READ);
    for (let i = 1; i < GET.length; i++) {
      expect(read(cut(GET, i))).toEqual(READ);
      for (let j = i + 1; j < GET.length; j++) expect(read(cut(GET, i, j))).toEqual(READ);
    }
  });

  it("ends where it ends: two in one piece are two, and half of a third waits", () => {
    const { heads } = READ;
    const text = GET + GET + GET.slice(0, 20);
    for (let i = 1; i < text.length; i++) {
      expect(read(cut(text, i))).toEqual({ heads: [...heads, ...heads], rest: "" });
    }
  });

  it("is read again where the same one was read before, and where another one was", () => {
    const other = GET.replace("/a?b", "/c?d");
    const old = GET.replace("1.1", "1.0");
    const heads = (...lines: object[]) => lines.map((line) => [line, ["Host", "a", "X-A", "b"]]);
    const [OTHER, OLD] = [
      { ...LINE, target: "/c?d" },
      { ...LINE, minor: 0 },
    ];
    expect(read([GET, GET, other, GET, old, GET])).toEqual({
      heads: heads(LINE, LINE, OTHER, LINE, OLD, LINE),
      rest: "",
    });
    expect(read([GET, `\r\n${GET}`, GET + other, GET])).toEqual({
      heads: heads(LINE, LINE, LINE, OTHER, LINE),
      rest: "",
    });
    expect(read([GET, `${GET}body`, GET])).toEqual(400);
    expect(read([GET, "GET /a?b HTTP/1.1\r\nHost: a\r\nX-A:  b\0\r\n\r\n"])).toBe(400);
  });

  it("has its target also where the same one was read before", () => {
    const reader = new RequestHeadReader(BYTES_MAX, FIELDS_MAX);
    for (const target of ["/a?b", "/a?b", "/c", "/c"]) {
      reader.push(Buffer.from(GET.replace("/a?b", target)), 0);
      expect(reader.target).toBe(target);
    }
  });

  it("may come behind empty lines, however they arrive", () => {
    const text = `\r\n\r\n${GET}`;
    expect(read([text])).toEqual(READ);
    expect(read([...text])).toEqual(READ);
    for (let i = 1; i < text.length; i++) expect(read(cut(text, i))).toEqual(READ);
  });

  it("longer than what is glanced at is read as any other", () => {
    const value = "x".repeat(5_000);
    const text = GET.replace("  b ", value);
    const heads = [[LINE, ["Host", "a", "X-A", value]]];
    for (const at of [1, 2_047, 2_048, 2_049, text.length - 1]) {
      expect(read(cut(text, at), 10_000)).toEqual({ heads, rest: "" });
    }
  });

  it("has as many fields as it may, and no more", () => {
    const withFields = (count: number) => GET.replace("X-A", `${"A: b\r\n".repeat(count - 2)}X-A`);
    expect(read([withFields(FIELDS_MAX)])).toMatchObject({ heads: [expect.anything()] });
    expect(read([withFields(FIELDS_MAX + 1)])).toBe(431);
  });
});

describe("a head of as many bytes as it may have", () => {
  // Counted up to the end of its last line, without the line ends behind it.
  const toHead = (bytes: number) => {
    const empty = "GET / HTTP/1.1\r\nHost: a\r\nX: ";
    return `${empty}${"x".repeat(bytes - empty.length)}\r\n\r\n`;
  };

  it("is taken, and with one more refused with 431, however it arrives", () => {
    for (const [bytes, isTaken] of [
      [BYTES_MAX, true],
      [BYTES_MAX + 1, false],
    ] as const) {
      const text = toHead(bytes);
      const outcome = isTaken ? { heads: [expect.anything()], rest: "" } : 431;
      expect(read([text])).toEqual(outcome);
      expect(read([...text])).toEqual(outcome);
      for (let i = 1; i < text.length; i++) expect(read(cut(text, i))).toEqual(outcome);
    }
  });

  it("is refused as soon as no end could make it short enough", () => {
    expect(read([toHead(10_000).slice(0, BYTES_MAX + 3)])).toEqual({ heads: [], rest: "" });
    expect(read([toHead(10_000).slice(0, BYTES_MAX + 4)])).toBe(431);
  });
});

describe("what can't become a head", () => {
  it.each([
    "\x16\x03\x01\x02\x00\x01",
    "GET / HTTP/1.1\n",
    "GET / HTTP/1.1\r\r",
    "GET / HTTP/1.1\r\nHost: a\0",
    "GET / HTTP/1.1\r\nHost: a\rb",
    "GET / HTTP/1.1\r\nHost: a\nb",
    "HELLO\r\n",
    "HELLO / HTTP/1.1\r\n",
    "GET / HTTP/1.1\r\n\n",
    " \r\n",
  ])("is refused before its end is there: %j", (text) => {
    expect(read([text])).toBe(400);
    expect(read([...text])).toBe(400);
  });

  it.each([
    "GET / HTTP/1.1\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\nX: \x01\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\nX: \x7f\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\n X: b\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\nX : b\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\nX\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\t\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked \t \r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\nX\xe9: b\r\n\r\n",
  ])("is refused at its end, however it arrives: %j", (text) => {
    expect(read([text])).toBe(400);
    for (let i = 1; i < text.length; i++) expect(read(cut(text, i))).toBe(400);
  });

  it("is not overlooked because the head before it was fine", () => {
    expect(read([`${GET}GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n`])).toBe(400);
    expect(read([GET, GET.replace("HTTP/1.1", "HTTP/1.2")])).toBe(400);
  });
});

describe("fields that are sent again", () => {
  const push = (reader: RequestHeadReader, text: string) =>
    reader.push(Buffer.from(text), 0)?.fields;

  it("are not read again, unless one differs or the version does", () => {
    const reader = new RequestHeadReader(BYTES_MAX, FIELDS_MAX);
    const first = push(reader, GET);
    expect(push(reader, GET.replace("/a?b", "/c"))).toBe(first);
    const other = push(reader, GET.replace(" b ", "c"));
    expect(other?.raw).toEqual(["Host", "a", "X-A", "c"]);
    const old = push(reader, GET.replace(" b ", "c").replace("1.1", "1.0"));
    expect(old).not.toBe(other);
    expect(old?.isKept).toBe(false);
  });
});
