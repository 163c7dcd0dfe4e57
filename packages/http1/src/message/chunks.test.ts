// Chunked bodies: the same however they arrive, and nothing else is taken for one.

import { describe, expect, it } from "vitest";
import { cut } from "../../test/wire.js";
import { ChunkReader } from "./chunks.js";
import { MalformedMessage } from "./malformed-message.js";

/** The body and what follows it; `isDone` says whether its end was there. */
function read(pieces: readonly string[], reader = new ChunkReader()) {
  let body = "";
  let rest = "";
  for (const piece of pieces) {
    const bytes = Buffer.from(piece, "latin1");
    const end = reader.push(bytes, 0, (lent, from, to) => {
      body += lent.toString("latin1", from, to);
    });
    rest += piece.slice(end);
  }
  return { body, rest, isDone: reader.isDone };
}

function statusOf(pieces: readonly string[]): number | undefined {
  try {
    read(pieces);
    return undefined;
  } catch (error) {
    expect(error).toBeInstanceOf(MalformedMessage);
    return (error as MalformedMessage).status;
  }
}

const TEXT =
  '5;a=b;c="d e"\r\nhello\r\n00A\r\n0123\r\n\xe9\r\n\0\r\n0;x\r\nX-A: b\r\nX-B:\r\n\r\nGET';
const READ = { body: "hello0123\r\n\xe9\r\n\0", rest: "GET", isDone: true };

describe("a chunked body", () => {
  it("is the same in one piece, in any two or three, and byte by byte", () => {
    expect(read([TEXT])).toEqual(READ);
    expect(read([...TEXT])).toEqual(READ);
    for (let i = 1; i < TEXT.length; i++) {
      expect(read(cut(TEXT, i))).toEqual(READ);
      for (let j = i + 1; j < TEXT.length; j++) expect(read(cut(TEXT, i, j))).toEqual(READ);
    }
  });

  it("may be empty, and is not done before its last byte", () => {
    expect(read(["0\r\n\r\n"])).toEqual({ body: "", rest: "", isDone: true });
    for (let end = 0; end < TEXT.length - 3; end++) {
      expect(read([TEXT.slice(0, end)]).isDone).toBe(false);
    }
  });

  it("is followed by another after a reset, whatever the first left behind", () => {
    const reader = new ChunkReader();
    read(["0;a=b\r\nX-A: b\r\n\r\n"], reader);
    reader.reset();
    expect(read(["1\r\nx\r\n0\r\n\r\n"], reader)).toEqual({ body: "x", rest: "", isDone: true });
    const broken = new ChunkReader();
    read(["5;half"], broken);
    broken.reset();
    expect(read(["1\r\nx\r\n0\r\n\r\n"], broken).body).toBe("x");
  });

  it("is piece for piece the bytes that were handed over", () => {
    const bytes = Buffer.from("5\r\nhello\r\n0\r\n\r\n");
    const pieces: unknown[] = [];
    new ChunkReader().push(bytes, 0, (lent, from, to) => pieces.push([lent === bytes, from, to]));
    expect(pieces).toEqual([[true, 3, 8]]);
  });
});

describe("what is no chunked body", () => {
  it.each([
    ...[
      "\r\n",
      "x\r\n",
      " 5\r\n",
      "+5\r\n",
      "-5\r\n",
      "0x5\r\n",
      "5 \r\n",
      "5\t\r\n",
      "5\n",
      "5\r\r\n",
      "5\rx",
    ],
    ...["10000000000000\r\n", "5,\r\n", "5\0", "5\x80", ";a\r\n"],
    ...[
      "5;\r\n",
      "5;a b\r\n",
      "5; a\r\n",
      "5;a=\r\n",
      "5;=b\r\n",
      "5;a\nb",
      "5;a\0",
      '5;a="b\r\n',
      '5;a="b"c\r\n',
    ],
    ...["5;\xe9\r\n", "5;a=b=c\r\n", "5;;\r\n", '5;a="\x7f"\r\n', "5;a\rb"],
    ...["1\r\nxy", "1\r\nx\n", "1\r\nx\rx", "1\r\nx0\r\n", "1\r\nx\r\r"],
    ...[
      "0\r\n\n",
      "0\r\n\rx",
      "0\r\nX\r\n\r\n",
      "0\r\nX : b\r\n\r\n",
      "0\r\n X: b\r\n\r\n",
      "0\r\nX: \0",
    ],
    ...["0\r\nX: b\n", "0\r\nX: a\rb", "0\r\n: b\r\n", "0\r\nX\xe9: b\r\n"],
  ])("is refused, however it arrives: %j", (text) => {
    expect(statusOf([text])).toBe(400);
    expect(statusOf([...text])).toBe(400);
  });

  it("is refused with 431 at its bounds exactly", () => {
    const withExtension = (bytes: number) => `1;${"a".repeat(bytes - 1)}\r\nx\r\n0\r\n\r\n`;
    expect(statusOf([withExtension(1_024)])).toBeUndefined();
    expect(statusOf([withExtension(1_025)])).toBe(431);
    // The bound is each chunk's.
    expect(statusOf([withExtension(1_000).slice(0, -5) + withExtension(1_000)])).toBeUndefined();
    const withTrailers = (bytes: number) => {
      const line = `X: ${"a".repeat(1_020)}\r\n`;
      return `0\r\n${line.repeat(15)}X: ${"a".repeat(bytes - 15 * 1_024 - 4)}\r\n\r\n`;
    };
    expect(statusOf([withTrailers(16_384)])).toBeUndefined();
    expect(statusOf([withTrailers(16_385)])).toBe(431);
    expect(statusOf([`1;${"a".repeat(2_000)}`])).toBe(431);
  });

  it("counts sizes as large as a double counts exactly", () => {
    expect(read(["fffffffffffff\r\nx"])).toEqual({ body: "x", rest: "", isDone: false });
    expect(statusOf(["0fffffffffffff\r\n"])).toBe(400);
  });
});
