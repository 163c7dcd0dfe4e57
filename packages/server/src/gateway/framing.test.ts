// Framing: what is taken for a body, and what is refused because others could take it for something else.

import type { IncomingMessage } from "node:http";
import { describe, expect, it } from "vitest";
import { readFraming } from "./framing.js";

function framing(rawHeaders: readonly string[], minor = 1, major = 1) {
  const request = { rawHeaders, httpVersionMajor: major, httpVersionMinor: minor };
  return readFraming(request as unknown as IncomingMessage);
}

const HOST = ["Host", "example.com"];

describe("readFraming", () => {
  it("knows no body, a length and chunks", () => {
    expect(framing(HOST)).toBe("none");
    expect(framing([...HOST, "content-length", "0"])).toBe("length");
    expect(framing([...HOST, "Transfer-Encoding", "Chunked"])).toBe("chunked");
  });

  it.each([
    [["Content-Length", "1", "Content-Length", "1"]],
    [["Content-Length", "1", "content_length", "1"]],
    [["Content_Length", "1"]],
    [["Transfer_Encoding", "chunked"]],
    [["Content-Length", "+1"]],
    [["Content-Length", "1,1"]],
    [["Content-Length", "0x1"]],
    [["Content-Length", ""]],
    [["Content-Length", "1234567890123456"]],
    [["Content-Length", "1", "Transfer-Encoding", "chunked"]],
    [["Transfer-Encoding", "gzip, chunked"]],
    [["Transfer-Encoding", "chunked", "Transfer-Encoding", "chunked"]],
    [["Transfer-Encoding", "identity"]],
    [["Transfer-Encoding", ""]],
    [["Host", "example.com"]],
  ])("refuses %j", (fields) => {
    expect(framing([...HOST, ...fields])).toBeUndefined();
  });

  it.each(["", "a b", "a/b", "a@b", "a,b", "a:b", "a\\b", "a:1:2", "[::1", "a?b", "a:123456"])(
    "refuses the host %j",
    (host) => expect(framing(["Host", host])).toBeUndefined(),
  );

  it.each(["a", "a_b.example.com.:80", "[::1]:8080", "127.0.0.1", "a:"])(
    "takes the host %j",
    (host) => expect(framing(["Host", host])).toBe("none"),
  );

  it("needs a Host in HTTP/1.1, and knows no chunks in HTTP/1.0", () => {
    expect(framing([], 1)).toBeUndefined();
    expect(framing([], 0)).toBe("none");
    expect(framing(["Content-Length", "3"], 0)).toBe("length");
    expect(framing([...HOST, "Transfer-Encoding", "chunked"], 0)).toBeUndefined();
  });

  it("refuses other versions", () => {
    expect(framing(HOST, 0, 2)).toBeUndefined();
    expect(framing(HOST, 9, 0)).toBeUndefined();
    expect(framing(HOST, 2, 1)).toBeUndefined();
  });
});
