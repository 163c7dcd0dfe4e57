// Heads as they leave the gateway: what ends here, what is rewritten, what peers may say.

import { toLines } from "sluice/http";
import { readResponseHead } from "sluice-http1";
import { describe, expect, it } from "vitest";
import {
  toClientFields,
  toUpstreamFields,
  type UpstreamFieldsOptions,
} from "./forwarded-headers.js";
import { clientHeadOf } from "./response-head.js";

const ROUTE = { path: "/*", host: undefined, upstream: "api", preserveHost: true };
const OPTIONS: UpstreamFieldsOptions = {
  route: ROUTE,
  backendHost: "127.0.0.1:3000",
  clientPeer: "203.0.113.10",
  isPeerTrusted: false,
  protocol: "http",
  bodyFraming: "none",
  isUnencoded: false,
};

function head(fields: readonly string[], options: Partial<UpstreamFieldsOptions> = {}): string[] {
  const text = toUpstreamFields(["Host", "example.com", ...fields], { ...OPTIONS, ...options });
  expect(text.endsWith("\r\n\r\n")).toBe(true);
  return text.slice(0, -4).split("\r\n");
}

/** The lines that every request has here. */
const OURS = [
  "Host: example.com",
  "X-Forwarded-For: 203.0.113.10",
  "X-Forwarded-Proto: http",
  "X-Forwarded-Host: example.com",
];

describe("the head of a request to an upstream", () => {
  it("carries the canonical target, the fields of the client as they were written, and ours", () => {
    expect(head(["aCCept", "*/*", "Cookie", "a=1", "Cookie", "b=\u00e9"])).toEqual([
      ...OURS.slice(0, 1),
      "aCCept: */*",
      "Cookie: a=1",
      "Cookie: b=\u00e9",
      ...OURS.slice(1),
    ]);
  });

  it.each([
    ["Connection", "close"],
    ["Keep-Alive", "max=5"],
    ["PROXY-CONNECTION", "keep-alive"],
    ["Transfer-Encoding", "chunked"],
    ["Transfer_Encoding", "chunked"],
    ["Upgrade", "h2c"],
    ["Expect", "100-continue"],
    ["Proxy-Authenticate", "Basic"],
    ["Proxy-Authorization", "Basic eA=="],
    ["TE", "gzip"],
    ["Content-Length", "5"],
    ["Content_Length", "5"],
    ["Forwarded", "for=192.0.2.1"],
    ["X-Forwarded-For", "192.0.2.1"],
    ["X_Forwarded_For", "192.0.2.1"],
    ["x-forwarded-proto", "https"],
    ["X-Forwarded-Host", "bad.example.com"],
    ["X-Forwarded-Prefix", "/admin"],
    ["X-Real-IP", "192.0.2.1"],
    ["X-Original-URL", "/admin"],
    ["X-Rewrite-URL", "/admin"],
  ])("does not carry %s of a stranger", (name, value) => {
    expect(head([name, value])).toEqual(OURS);
  });

  it("drops what Connection names, in any of its lines, and never what is ours", () => {
    const fields = [
      "X-A",
      "1",
      "Connection",
      "close, x-a",
      "Connection",
      " X-B\t,Host,X-Forwarded-For",
      "x-b",
      "2",
      "X-C",
      "3",
    ];
    expect(head(fields)).toEqual([...OURS.slice(0, 1), "X-C: 3", ...OURS.slice(1)]);
  });

  it("drops what Connection names last, however much it names before", () => {
    const fields = ["Connection", `${",".repeat(15_000)}x-a`, "X-A", "1"];
    expect(head(fields)).toEqual(OURS);
  });

  it("lets Connection take nothing away that a trusted peer says of the client", () => {
    const fields = [
      "X-Forwarded-For",
      "192.0.2.1",
      "Connection",
      "X-Forwarded-For, X-Forwarded-Proto",
      "X-Forwarded-Proto",
      "https",
    ];
    const lines = head(fields, { isPeerTrusted: true });
    expect(lines).toContain("X-Forwarded-For: 192.0.2.1, 203.0.113.10");
    expect(lines).toContain("X-Forwarded-Proto: https");
  });

  it("continues the list of addresses of a trusted peer, all lines of it", () => {
    const fields = [
      "X-Forwarded-For",
      "192.0.2.1",
      "X-Forwarded-For",
      "192.0.2.2, 192.0.2.3",
      "X-Forwarded-Host",
      "shop.example.com",
    ];
    expect(head(fields, { isPeerTrusted: true }).slice(1)).toEqual([
      "X-Forwarded-Host: shop.example.com",
      "X-Forwarded-For: 192.0.2.1, 192.0.2.2, 192.0.2.3, 203.0.113.10",
      "X-Forwarded-Proto: http",
    ]);
  });

  it("writes IPv4 as IPv4 and leaves out a peer that is gone", () => {
    expect(head([], { clientPeer: "::ffff:192.0.2.7" })).toContain("X-Forwarded-For: 192.0.2.7");
    expect(head([], { clientPeer: undefined }).join()).not.toContain("X-Forwarded-For");
  });

  it("says whether the client came over TLS", () => {
    expect(head([], { protocol: "https" })).toContain("X-Forwarded-Proto: https");
  });

  it("names the backend as Host if the route says so, and the client's host beside it", () => {
    const lines = head([], { route: { ...ROUTE, preserveHost: false } });
    expect(lines).toContain("Host: 127.0.0.1:3000");
    expect(lines).toContain("X-Forwarded-Host: example.com");
  });

  it("has one framing: a length or chunks, never both", () => {
    const fields = ["Content-Length", "5", "Transfer-Encoding", "chunked"];
    expect(head(fields, { bodyFraming: "length" })).toEqual([...OURS, "Content-Length: 5"]);
    expect(head(fields, { bodyFraming: "chunked" })).toEqual([
      ...OURS,
      "Transfer-Encoding: chunked",
    ]);
  });

  it("passes on that trailers are welcome, and nothing else of TE", () => {
    expect(head(["TE", "gzip, trailers;q=1, Trailers"])).toEqual([
      ...OURS,
      "TE: trailers",
      "Connection: TE",
    ]);
  });
});

describe("the fields of a response", () => {
  it("are those of the upstream, without what is about its connection", () => {
    const raw = [
      "Server",
      "x",
      "Connection",
      "close, X-Hop",
      "x-hop",
      "1",
      "Keep-Alive",
      "timeout=5",
      "Transfer-Encoding",
      "chunked",
      "Upgrade",
      "h2",
      "Set-Cookie",
      "a",
      "Set-Cookie",
      "b",
      "Proxy-Authenticate",
      "Basic",
      "Content-Length",
      "5",
    ];
    expect(toClientFields(raw)).toEqual([
      "Server",
      "x",
      "Set-Cookie",
      "a",
      "Set-Cookie",
      "b",
      "Content-Length",
      "5",
    ]);
  });

  it("keep their length, whatever Connection says", () => {
    expect(toClientFields(["Connection", "Content-Length", "Content-Length", "5"])).toEqual([
      "Content-Length",
      "5",
    ]);
  });

  const limits = [
    "RateLimit",
    "a",
    "ratelimit-policy",
    "b",
    "RateLimit-Limit",
    "1",
    "X-RateLimit-Limit",
    "1",
    "x-ratelimit-reset",
    "2",
  ];

  it("leave room for our RateLimit headers, and carry the upstream's where no rule of ours matched", () => {
    const text = `HTTP/1.1 200 OK\r\n${toLines([...limits, "ETag", "e"])}`;
    const { lines, linesBesideOurs } = clientHeadOf(readResponseHead(text));
    expect(linesBesideOurs).toBe("ETag: e\r\n");
    expect(lines).toBe(toLines([...limits, "ETag", "e"]));
  });
});
