import { METHODS } from "node:http";
import { describe, expect, it } from "vitest";
import { MalformedMessage } from "../message/malformed-message.js";
import { readRequestLine } from "./request-line.js";

const read = (line: string) => readRequestLine(`${line}\r\nHost: a\r\n`, line.length);

describe("the first line", () => {
  it("has a method, a target and a version", () => {
    expect(read("GET / HTTP/1.1")).toEqual({ method: "GET", target: "/", minor: 1 });
    expect(read("M-SEARCH * HTTP/1.0")).toEqual({ method: "M-SEARCH", target: "*", minor: 0 });
    expect(read("GET /~!\"$%&'()*+,;=:@[\\]^`{|}?#< HTTP/1.1").target).toBe(
      "/~!\"$%&'()*+,;=:@[\\]^`{|}?#<",
    );
  });

  it.each(METHODS.filter((method) => method !== "CONNECT"))("takes %s", (method) => {
    expect(read(`${method} / HTTP/1.1`).method).toBe(method);
  });

  it.each([
    ...["", " ", "GET", "GET ", "GET  HTTP/1.1", "GET /", "GET / ", "GET /HTTP/1.1"],
    ...["get / HTTP/1.1", "BREW / HTTP/1.1", "CONNECT a:80 HTTP/1.1", "GETS / HTTP/1.1"],
    ...[
      " GET / HTTP/1.1",
      "GET  / HTTP/1.1",
      "GET /  HTTP/1.1",
      "GET / HTTP/1.1 ",
      "GET\t/ HTTP/1.1",
    ],
    ...["GET / HTTP/1.2", "GET / HTTP/2.0", "GET / HTTP/0.9", "GET / http/1.1", "GET / HTTP/1.10"],
    ...["GET / RTSP/1.0", "GET / HTTP/1", "GET / HTTP/", "GET /a b HTTP/1.1", "GET /\x00 HTTP/1.1"],
    ...["GET /\x7f HTTP/1.1", "GET /\x80 HTTP/1.1", "GET /\xe9 HTTP/1.1", "GET /\t HTTP/1.1"],
    ...["constructor / HTTP/1.1", "GET / HTTP/1.1\0"],
  ])("is refused: %j", (line) => {
    expect(() => read(line)).toThrow(MalformedMessage);
  });

  it("is not mended by what stands in the next", () => {
    expect(() => readRequestLine("GET\r\n/ HTTP/1.1\r\n", 3)).toThrow(MalformedMessage);
    expect(() => readRequestLine("GET /\r\n HTTP/1.1\r\n", 5)).toThrow(MalformedMessage);
  });
});
