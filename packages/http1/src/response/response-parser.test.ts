import { describe, expect, it } from "vitest";
import { MalformedMessage } from "../message/malformed-message.js";
import { type ResponseHead, ResponseHeadReader } from "./response-head.js";
import { HEAD_BYTES_MAX, type RequestKind, ResponseParser } from "./response-parser.js";

/** What came out of a parser. */
interface Heard {
  head?: ResponseHead;
  body: string;
  isWhole: boolean;
  /** Bytes that belong to no response. */
  left: number;
}

/** Feeds bytes in pieces that end at `cuts`, then the end of the connection where that may end a response. */
function hear(text: string, cuts: readonly number[], asked: RequestKind = "resource"): Heard {
  const heard: Heard = { body: "", isWhole: false, left: 0 };
  const parser = new ResponseParser(new ResponseHeadReader());
  const add = (bytes: Buffer, from: number, to: number) => {
    heard.body += bytes.toString("latin1", from, to);
  };
  const sink = {
    onHead: (head: ResponseHead) => {
      heard.head = head;
    },
    onBody: add,
    onEnd: (bytes: Buffer, from: number, to: number) => {
      add(bytes, from, to);
      heard.isWhole = true;
    },
  };
  parser.begin(sink, asked);
  const bytes = Buffer.from(text, "latin1");
  let at = 0;
  for (const cut of [...cuts, bytes.length]) {
    if (parser.isDone) break;
    // The piece is overwritten afterwards, as the memory of a connection is.
    const piece = Buffer.from(bytes.subarray(at, cut));
    at += parser.push(piece);
    piece.fill(0);
    if (!parser.isDone) at = cut;
  }
  heard.left = bytes.length - at;
  if (parser.endsByClose) parser.finish();
  return heard;
}

const everyCut = (text: string) => [...Array(text.length).keys()].slice(1);

const good: readonly (readonly [what: string, text: string, status: number, body: string])[] = [
  ["a body of known length", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, "hello"],
  ["no reason", "HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nhi", 200, "hi"],
  ["an empty reason", "HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\nhi", 200, "hi"],
  ["HTTP/1.0 until the end", "HTTP/1.0 200 OK\r\n\r\nto the end", 200, "to the end"],
  ["no fields, until the end", "HTTP/1.1 404 Not Found\r\n\r\n", 404, ""],
  ["an empty body", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200, ""],
  ["204", "HTTP/1.1 204 No Content\r\n\r\n", 204, ""],
  ["304 with a length", "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", 304, ""],
  [
    "one length twice",
    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\ncontent-length: 1\r\n\r\nx",
    200,
    "x",
  ],
  ["a value of spaces", "HTTP/1.1 200 OK\r\nX:  \t\r\nContent-Length: 1\r\n\r\nx", 200, "x"],
  ["bytes beyond ASCII", "HTTP/1.1 200 OK\r\nX: \xe9\xa0\r\nContent-Length: 1\r\n\r\nx", 200, "x"],
  [
    "chunks",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n",
    200,
    "abc0123456789",
  ],
  [
    "chunks with extensions and trailers",
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;a="b";c\r\nabc\r\n0;x\r\nX: 1\r\nY: 2\r\n\r\n',
    200,
    "abc",
  ],
  [
    "interim responses",
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
    200,
    "x",
  ],
];

const chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
const bad: readonly (readonly [what: string, text: string])[] = [
  ["another protocol", "HTTP/2 200 OK\r\n\r\n"],
  ["no protocol", "hello\r\n\r\n"],
  ["a status of two digits", "HTTP/1.1 20 OK\r\n\r\n"],
  ["a status of four digits", "HTTP/1.1 2000 OK\r\n\r\n"],
  ["a status below 100", "HTTP/1.1 099 OK\r\n\r\n"],
  ["two spaces before the status", "HTTP/1.1  200 OK\r\n\r\n"],
  ["a line without a colon", "HTTP/1.1 200 OK\r\nhello\r\n\r\n"],
  ["a name with a space behind it", "HTTP/1.1 200 OK\r\nContent-Length : 1\r\n\r\nx"],
  ["an empty name", "HTTP/1.1 200 OK\r\n: 1\r\n\r\n"],
  ["a name that is not a token", "HTTP/1.1 200 OK\r\nA(b: 1\r\n\r\n"],
  ["a folded line", "HTTP/1.1 200 OK\r\nA: 1\r\n b\r\n\r\n"],
  ["a bare LF", "HTTP/1.1 200 OK\r\nA: 1\nContent-Length: 1\r\n\r\nx"],
  ["no line end that is whole", "HTTP/1.1 200 OK\nA: 1\nContent-Length: 1\n\nx"],
  ["a bare CR", "HTTP/1.1 200 OK\r\nA: 1\rContent-Length: 1\r\n\r\nx"],
  ["a NUL", "HTTP/1.1 200 OK\r\nA: 1\0\r\n\r\n"],
  ["a control character", "HTTP/1.1 200 OK\r\nA: \x1b[2J\r\n\r\n"],
  ["two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx"],
  ["a list of lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1, 1\r\n\r\nx"],
  ["a signed length", "HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\nx"],
  ["a negative length", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nx"],
  ["a hexadecimal length", "HTTP/1.1 200 OK\r\nContent-Length: 0x1\r\n\r\nx"],
  ["an empty length", "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\nx"],
  ["a length beyond counting", "HTTP/1.1 200 OK\r\nContent-Length: 9999999999999999\r\n\r\nx"],
  [
    "length and chunks",
    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
  ],
  ["another coding", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n"],
  ["two codings", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"],
  [
    "chunked twice",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
  ],
  ["chunks in HTTP/1.0", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"],
  ["a protocol that was not asked for", "HTTP/1.1 101 Switching Protocols\r\n\r\n"],
  ["endless interim responses", "HTTP/1.1 102 Processing\r\n\r\n".repeat(33)],
  ["a head without an end", `HTTP/1.1 200 OK\r\nA: ${"x".repeat(HEAD_BYTES_MAX)}`],
  ["a head that is too long", `HTTP/1.1 200 OK\r\nA: ${"x".repeat(HEAD_BYTES_MAX)}\r\n\r\n`],
  ["a chunk size that is not a number", `${chunked}g\r\n`],
  ["an empty chunk size", `${chunked}\r\nabc`],
  ["a space in a chunk size", `${chunked}3 \r\nabc\r\n`],
  ["a signed chunk size", `${chunked}-3\r\nabc\r\n`],
  ["a chunk size with 0x", `${chunked}0x3\r\nabc\r\n`],
  ["a chunk size that ends in LF", `${chunked}3\nabc\r\n`],
  ["a chunk longer than it says", `${chunked}3\r\nabcd\r\n`],
  ["a chunk that ends in LF", `${chunked}3\r\nabc\n0\r\n\r\n`],
  ["a chunk beyond counting", `${chunked}ffffffffffffff\r\n`],
  ["extensions without an end", `${chunked}3;${"x".repeat(2_000)}`],
  ["an LF in an extension", `${chunked}3;a\nb\r\nabc\r\n`],
  ["trailers without an end", `${chunked}0\r\n${"A: b\r\n".repeat(5_000)}`],
  ["an LF in a trailer", `${chunked}0\r\nA: b\n\r\n\r\n`],
];

describe("a response", () => {
  for (const [what, text, status, body] of good) {
    it(`is read with ${what}, however it arrives`, () => {
      const whole = hear(text, []);
      expect(whole).toMatchObject({ head: { status }, body, isWhole: true, left: 0 });
      for (const cut of everyCut(text)) expect(hear(text, [cut])).toEqual(whole);
      expect(hear(text, everyCut(text))).toEqual(whole);
    });
  }

  for (const [what, text] of bad) {
    it(`is broken with ${what}, however it arrives`, () => {
      expect(() => hear(text, [])).toThrow(MalformedMessage);
      const cuts = text.length > 2_000 ? [1, 100, 1_000] : everyCut(text);
      for (const cut of cuts) expect(() => hear(text, [cut])).toThrow(MalformedMessage);
      if (text.length < 2_000) expect(() => hear(text, cuts)).toThrow(MalformedMessage);
    });
  }

  it("is not whole before its last byte", () => {
    for (const [, text, , body] of good) {
      if (!text.includes("Length: 5") && !text.includes("hunked")) continue;
      for (const cut of everyCut(text)) {
        const heard = hear(text.slice(0, cut), []);
        expect(heard.isWhole).toBe(false);
        expect(body.startsWith(heard.body)).toBe(true);
      }
    }
  });

  it("to HEAD has no body, whatever it announces", () => {
    const text = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
    expect(hear(text, [], "head")).toMatchObject({ body: "", isWhole: true, left: 0 });
  });

  const SWITCH = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n";

  it("that switches to the WebSocket that was asked for is followed by bytes without an end", () => {
    const text = `HTTP/1.1 103 Early Hints\r\n\r\n${SWITCH}Upgrade: WebSocket\r\nContent-Length: 1\r\n\r\nabc`;
    for (const cut of everyCut(text)) {
      const heard = hear(text, [cut], "websocket");
      expect(heard).toMatchObject({ head: { status: 101 }, body: "abc", isWhole: true });
    }
    expect(() => hear(text, [], "resource")).toThrow(MalformedMessage);
  });

  it("that switches to anything else is broken", () => {
    for (const fields of ["", "Upgrade: h2c\r\n", "Upgrade: websocket, h2c\r\n"]) {
      expect(() => hear(`${SWITCH}${fields}\r\nabc`, [], "websocket")).toThrow(MalformedMessage);
    }
  });

  it("leaves the bytes behind it alone", () => {
    const text = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxHTTP/1.1 200 OK\r\n\r\n";
    for (const cut of everyCut(text)) {
      expect(hear(text, [cut])).toMatchObject({ body: "x", isWhole: true });
    }
    expect(hear(text, []).left).toBe("HTTP/1.1 200 OK\r\n\r\n".length);
    expect(hear(`${chunked}0\r\n\r\nmore`, []).left).toBe(4);
  });

  it("keeps names, values and order as they were written", () => {
    const text = "HTTP/1.1 200 OK\r\nB: 1\r\nsEt-Cookie: a\r\na:\t2 3 \r\nSet-Cookie: b\r\n\r\n";
    expect(hear(text, []).head?.fields).toEqual([
      "B",
      "1",
      "sEt-Cookie",
      "a",
      "a",
      "2 3",
      "Set-Cookie",
      "b",
    ]);
  });

  it("says whether the connection may be used again, and for how long", () => {
    const connectionOf = (first: string, fields: string) =>
      hear(`${first}\r\nContent-Length: 0\r\n${fields}\r\n`, []).head;
    expect(connectionOf("HTTP/1.1 200 OK", "")?.isKeptAlive).toBe(true);
    expect(connectionOf("HTTP/1.1 200 OK", "Connection: x, Close\r\n")?.isKeptAlive).toBe(false);
    expect(connectionOf("HTTP/1.0 200 OK", "")?.isKeptAlive).toBe(false);
    expect(connectionOf("HTTP/1.0 200 OK", "Connection: keep-alive\r\n")?.isKeptAlive).toBe(true);
    const promised = connectionOf("HTTP/1.1 200 OK", "Keep-Alive: max=5, timeout=7\r\n");
    expect(promised?.keepAliveMs).toBe(7_000);
  });

  it("has the same head object as the one before it if the heads are the same", () => {
    const heads = new ResponseHeadReader();
    const text = "HTTP/1.1 200 OK\r\nA: 1\r\n";
    expect(heads.read(text)).toBe(heads.read(`${text}`));
    expect(heads.read("HTTP/1.1 200 OK\r\nA: 2\r\n").fields).toEqual(["A", "2"]);
  });
});
