// What fields say: what is taken for a body, what is refused because others could take it for something
// else, what becomes of the connection, and values that are joined as Node joins them.

import { createServer, type IncomingMessage } from "node:http";
import { describe, expect, it } from "vitest";
import { settle, Wire } from "../../test/wire.js";
import { MalformedMessage } from "../message/malformed-message.js";
import { FieldsReader, RequestFields } from "./request-fields.js";

/** The framing; undefined if it is broken. */
function framing(raw: readonly string[], minor = 1) {
  try {
    return new RequestFields(raw, minor).framing;
  } catch (error) {
    expect(error).toBeInstanceOf(MalformedMessage);
    return undefined;
  }
}

const HOST = ["Host", "example.com"];

describe("framing", () => {
  it("knows no body, a length and chunks", () => {
    expect(framing(HOST)).toBe("none");
    expect(framing([...HOST, "content-length", "0"])).toBe("length");
    expect(framing([...HOST, "Transfer-Encoding", "Chunked"])).toBe("chunked");
  });

  it.each([
    ["Authorization", "Key a", "Key b"],
    ["Content-Type", "application/json", "application/x-www-form-urlencoded"],
  ])("is refused with two %s fields: servers differ in which they use", (name, one, other) => {
    expect(framing([...HOST, name, one])).toBe("none");
    expect(framing([...HOST, name, one, name.toLowerCase(), other])).toBeUndefined();
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
});

/** The fields of a request with these lines, each a name and a value. */
function fieldsOf(lines: readonly (readonly [string, string])[], minor = 1): RequestFields {
  return new RequestFields([...HOST, ...lines.flat()], minor);
}

describe("a connection", () => {
  it.each([
    // Connection, kept in HTTP/1.1, kept in HTTP/1.0
    [[], true, false],
    [["close"], false, false],
    [["Close"], false, false],
    [["keep-alive"], true, true],
    [["KEEP-ALIVE"], true, true],
    [["x", "close"], false, false],
    [["x ,\tclose\t, y"], false, false],
    [[",close,"], false, false],
    [["keep-alive, close"], false, false],
    [["closed"], true, false],
    [["keep-alive\xa0"], true, false],
    [["\xa0close"], true, false],
    [[""], true, false],
  ] as const)("of %j is kept in HTTP/1.1: %s, in HTTP/1.0: %s", (values, isKept, isOldKept) => {
    const lines = values.map((value) => ["Connection", value] as const);
    expect(fieldsOf(lines).isKept).toBe(isKept);
    expect(fieldsOf(lines, 0).isKept).toBe(isOldKept);
  });

  it("is read in time linear in its length, whatever the blanks", () => {
    // Squared, a million would take hours.
    const blanks = " ".repeat(1_000_000);
    expect(fieldsOf([["Connection", `a${blanks}b,${blanks}close`]]).isKept).toBe(false);
  });

  it.each([
    // Connection, Upgrade, what is asked for
    [["Upgrade"], ["WebSocket"], "websocket"],
    [["keep-alive, upgrade"], ["websocket"], "websocket"],
    [["keep-alive", "Upgrade"], ["h2c"], "h2c"],
    [["Upgrade"], ["h2c", "websocket"], "h2c, websocket"],
    [["Upgrade"], [], ""],
    [["keep-alive"], ["websocket"], ""],
    [[], ["websocket"], ""],
    [["upgrades"], ["websocket"], ""],
  ] as const)("of %j and %j is to become %j, never in HTTP/1.0", (connections, upgrades, asked) => {
    const lines = [
      ...connections.map((value) => ["Connection", value] as const),
      ...upgrades.map((value) => ["Upgrade", value] as const),
    ];
    expect(fieldsOf(lines).upgrade).toBe(asked);
    expect(fieldsOf(lines, 0).upgrade).toBe("");
  });

  it("is read with what it expects, in lower case, and twice is not once", () => {
    expect(fieldsOf([]).expect).toBe("");
    expect(fieldsOf([["Expect", "100-Continue"]]).expect).toBe("100-continue");
    const twice = fieldsOf([
      ["Expect", "x"],
      ["expect", "100-continue"],
    ]);
    expect(twice.expect).toBe("x, 100-continue");
  });
});

describe("values by name", () => {
  const NAMES = [
    ...["X-A", "x-a", "Cookie", "cookie", "Set-Cookie", "Accept", "Accept-Language"],
    ...[
      "ETag",
      "User-Agent",
      "Referer",
      "From",
      "Age",
      "Server",
      "Location",
      "Expires",
      "Retry-After",
    ],
    ...["If-Modified-Since", "Last-Modified", "Max-Forwards", "Proxy-Authorization"],
    ...["constructor", "Date", "If-None-Match", "Origin", "X-Forwarded-For", "Cache-Control", "TE"],
  ];

  it("are joined as node:http joins them", async () => {
    const asked: IncomingMessage[] = [];
    const node = createServer((request, response) => {
      asked.push(request);
      response.end();
    });
    for (let i = 0; i < 200; i++) {
      const lines = Array.from({ length: 12 }, (_, j) => {
        const name = NAMES[(i * 7 + j * j * 3 + i * j) % NAMES.length] as string;
        return [name, ["a", "", "b, c", "\xe9;d"][(i + j) % 4] as string] as const;
      });
      const wire = new Wire();
      node.emit("connection", wire);
      const text = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
      wire.arrive(`GET / HTTP/1.1\r\nHost: example.com\r\n${text}\r\n`);
      await settle();
      const [request] = asked.splice(0);
      const ours = fieldsOf(lines).values;
      expect(Object.entries(ours)).toEqual(Object.entries(request?.headers ?? {}));
      wire.destroy();
    }
  });

  it("are found one by one, several as one string", () => {
    const fields = fieldsOf([
      ["Set-Cookie", "a"],
      ["set-cookie", "b"],
      ["X", "c"],
    ]);
    expect(fields.get("set-cookie")).toBe("a, b");
    expect(fields.get("x")).toBe("c");
    expect(fields.get("constructor")).toBeUndefined();
    // For Node this one is lost.
    expect(fieldsOf([["__proto__", "d"]]).get("__proto__")).toBe("d");
  });
});

describe("fields that come again", () => {
  it("are the same object, unless they are long or the version is another", () => {
    const reader = new FieldsReader();
    const read = (text: string, minor = 1) => reader.read(`Host: a\r\n${text}`, minor, 10);
    const first = read("X: y\r\n");
    expect(read("X: y\r\n")).toBe(first);
    expect(read("X: z\r\n")).not.toBe(first);
    expect(read("X: y\r\n", 0)).not.toBe(read("X: y\r\n"));
    const long = `X: ${"y".repeat(3_000)}\r\n`;
    expect(read(long)).not.toBe(read(long));
  });
});

describe("values that are passed on", () => {
  it("include an upgrade to a WebSocket, and no other upgrade", () => {
    const passedOf = (protocol: string) =>
      new RequestFields([...HOST, "Connection", "Upgrade", "Upgrade", protocol], 1).passedValues(
        false,
      );
    expect({ ...passedOf("WebSocket") }).toEqual({ host: "example.com", upgrade: "websocket" });
    expect({ ...passedOf("h2c") }).toEqual({ host: "example.com" });
  });

  it("include what a trusted peer says about the client", () => {
    const raw = [
      ...HOST,
      "X-Forwarded-For",
      "203.0.113.7",
      "Connection",
      "X-A, x-forwarded-for",
      "x-a",
      "1",
    ];
    expect({ ...new RequestFields(raw, 1).passedValues(true) }).toEqual({
      host: "example.com",
      "x-forwarded-for": "203.0.113.7",
    });
    expect({ ...new RequestFields(raw, 1).passedValues(false) }).toEqual({ host: "example.com" });
  });

  it("are one string for several lines of a list, and a list for those of any other field", () => {
    const lines = ["Accept", "a", "X-A", "1", "Cookie", "a=1", "accept", "b", "x-a", "2"];
    const more = ["Cookie", "b=2", "X-A", "3", "User-Agent", "one", "User-Agent", "two"];
    expect({ ...new RequestFields([...HOST, ...lines, ...more], 1).passedValues(false) }).toEqual({
      host: "example.com",
      accept: "a, b",
      "x-a": ["1", "2", "3"],
      cookie: "a=1; b=2",
      "user-agent": ["one", "two"],
    });
  });

  it.each([
    [["X-Api-Key", "1", "X_Api_Key", "2"], { "x-api-key": "1" }],
    [["x_api-key", "1", "X-Api-Key", "2", "X-API_KEY", "3"], { "x-api-key": "2" }],
    [["x_api-key", "1", "X-API_KEY", "2"], {}],
    [["X_Api_Key", "1", "X_API_Key", "2"], { x_api_key: ["1", "2"] }],
    [["api_key", "1", "X-A", "2"], { api_key: "1", "x-a": "2" }],
  ])("of %j have no field that servers may read as another", (raw, passed) => {
    const fields = new RequestFields([...HOST, ...raw], 1);
    expect({ ...fields.passedValues(false) }).toEqual({ host: "example.com", ...passed });
  });
});
