import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encodeCommand, Push, RedisError, type Reply, ReplyReader } from "./resp.js";

const replies: readonly (readonly [bytes: string, reply: Reply])[] = [
  ["+OK\r\n", "OK"],
  ["+\r\n", ""],
  ["-READONLY You can't write\r\n", new RedisError("READONLY You can't write")],
  [":-7\r\n", -7],
  ["$5\r\na\r\nüb\r\n".replace("$5", "$6"), "a\r\nüb"],
  ["$0\r\n\r\n", ""],
  ["$-1\r\n", null],
  ["*-1\r\n", null],
  ["*0\r\n", []],
  [
    "*3\r\n:1\r\n*2\r\n$-1\r\n+x\r\n-ERR in a list\r\n",
    [1, [null, "x"], new RedisError("ERR in a list")],
  ],
  ["_\r\n", null],
  ["#t\r\n", true],
  ["#f\r\n", false],
  [",1.5\r\n", 1.5],
  ["(12345678901234567890\r\n", "12345678901234567890"],
  ["!9\r\nERR large\r\n", new RedisError("ERR large")],
  ["=7\r\ntxt:abc\r\n", "txt:abc"],
  ["%1\r\n+name\r\n:1\r\n", ["name", 1]],
  ["~2\r\n:1\r\n:2\r\n", [1, 2]],
  [">2\r\n+invalidate\r\n_\r\n", new Push(["invalidate", null])],
  ["|1\r\n+ttl\r\n:9\r\n+after attributes\r\n", "after attributes"],
];

describe("reading replies", () => {
  it.each(replies)("reads %j", (bytes, reply) => {
    expect(new ReplyReader().push(Buffer.from(bytes))).toEqual([reply]);
  });

  it("reads the same replies however the stream is cut into chunks", () => {
    const stream = Buffer.from(replies.map(([bytes]) => bytes).join(""));
    const expected = replies.map(([, reply]) => reply);
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }), (sizes) => {
        const reader = new ReplyReader();
        const read: Reply[] = [];
        for (let from = 0, i = 0; from < stream.length; i++) {
          const size = sizes[i % sizes.length] as number;
          read.push(...reader.push(stream.subarray(from, from + size)));
          from += size;
        }
        expect(read).toEqual(expected);
      }),
    );
  });

  it("refuses bytes that are not the protocol", () => {
    expect(() => new ReplyReader().push(Buffer.from("HTTP/1.1 200 OK\r\n"))).toThrow(
      '"H" opens no',
    );
  });

  it("names the kind of an error by its first word", () => {
    expect(new RedisError("MOVED 1 127.0.0.1:1").code).toBe("MOVED");
  });
});

describe("writing commands", () => {
  it("counts bytes and not characters", () => {
    expect(encodeCommand(["SET", "ü", 1]).toString()).toBe(
      "*3\r\n$3\r\nSET\r\n$2\r\nü\r\n$1\r\n1\r\n",
    );
  });

  it("keeps any bytes apart with latin1, there and back", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 50 }), (bytes) => {
        const text = Buffer.from(bytes).toString("latin1");
        expect(new ReplyReader("latin1").push(encodeCommand([text], "latin1"))).toEqual([[text]]);
      }),
    );
  });
});
