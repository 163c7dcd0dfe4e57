import {
  JSON_FIELDS,
  type LoggedRequest,
  type LogLineFormat,
  toLogLine,
} from "sluice-test-servers";
import { describe, expect, it } from "vitest";
import { type EntryNeeds, LogEntry } from "../log-entry.js";
import { detectFormat, formatOf } from "./detect.js";
import { type FieldMap, parseFieldMap } from "./field-map.js";
import { parseTime } from "./times.js";

const NOON = Date.UTC(2026, 10, 17, 12);
const ALL: EntryNeeds = { headers: new Set(["user-agent", "referer"]), forwardedFor: true };
const FORMATS: readonly LogLineFormat[] = ["combined", "common", "caddy", "envoy", "alb", "json"];
const FIELDS = parseFieldMap(JSON_FIELDS) as FieldMap;

const REQUEST: LoggedRequest = {
  atMs: NOON,
  ip: "203.0.113.7",
  method: "DELETE",
  path: "/users/42?force=1",
  status: 204,
  bodyBytes: 17,
  user: "ada",
  host: "api.example.com",
  userAgent: "curl/8.0",
  forwardedFor: "198.51.100.1, 10.0.0.1",
};

/** What a line says, or why it can't be read. */
function read(format: LogLineFormat, line: string, needs = ALL): LogEntry | string {
  const reader = formatOf(format, format === "json" ? FIELDS : undefined).createReader(needs);
  // Somewhere in a chunk, as lines are.
  const bytes = Buffer.from(`before\n${line}\nafter`);
  const [from, to] = [7, bytes.length - 6];
  const entry = new LogEntry();
  return reader.read(bytes, from, to, entry) ? entry.fillIn() : reader.problem;
}

describe("every format", () => {
  it.each(FORMATS)("%s says when, who, what and how it ended", (format) => {
    const path = format === "alb" ? "https://api.example.com:443/users/42?force=1" : REQUEST.path;
    expect(read(format, toLogLine(format, REQUEST))).toMatchObject({
      atMs: NOON,
      ip: "203.0.113.7",
      method: "DELETE",
      path,
      status: 204,
      bodyBytes: 17,
    });
  });

  it.each(FORMATS)("%s has addresses of IPv6", (format) => {
    const line = toLogLine(format, { ...REQUEST, ip: "2001:db8::7" });
    expect(read(format, line)).toMatchObject({ ip: "2001:db8::7" });
  });

  it.each(FORMATS)("%s is detected by its lines, malformed ones among them", (format) => {
    const line = toLogLine(format, REQUEST);
    const head = Buffer.from(`${line.slice(0, 30)}\n${line}\nnothing\n${line}\n`);
    const found = detectFormat(head, format === "json" ? { fields: FIELDS } : {});
    expect(found?.name).toBe(format);
  });

  it.each(FORMATS)(
    "%s reads a line that is cut off anywhere as malformed or as what it says",
    (format) => {
      const line = toLogLine(format, REQUEST);
      for (let length = 0; length < line.length; length++) {
        const entry = read(format, line.slice(0, length));
        if (typeof entry === "string") expect(entry).not.toBe("");
        // What can be read of it is right: only what stands at its end may be missing.
        else expect(entry).toMatchObject({ atMs: NOON, ip: "203.0.113.7", method: "DELETE" });
      }
    },
  );
});

describe("what formats have besides", () => {
  it("user, host, headers and X-Forwarded-For come from the fields of each", () => {
    const { user, host, forwardedFor } = REQUEST;
    const agent = { "user-agent": "curl/8.0" };
    expect(read("combined", toLogLine("combined", REQUEST))).toMatchObject({
      user,
      forwardedFor,
      headers: agent,
    });
    expect(read("caddy", toLogLine("caddy", REQUEST))).toMatchObject({
      user,
      host,
      forwardedFor,
      headers: agent,
    });
    expect(read("envoy", toLogLine("envoy", REQUEST))).toMatchObject({
      host,
      forwardedFor,
      headers: agent,
    });
    expect(read("alb", toLogLine("alb", REQUEST))).toMatchObject({
      host: "api.example.com:443",
      headers: agent,
    });
    expect(read("json", toLogLine("json", REQUEST))).toMatchObject({ user, host });
  });

  it("the client of Caddy's log is the one that Caddy found behind its proxies", () => {
    const line = toLogLine("caddy", { ...REQUEST, ip: "10.0.0.1" });
    expect(read("caddy", line)).toMatchObject({ ip: "10.0.0.1" });
    const found = line.replace('"remote_ip"', '"client_ip":"203.0.113.9","remote_ip"');
    expect(read("caddy", found)).toMatchObject({ ip: "203.0.113.9" });
  });

  it("a field that a line lacks is not that of the line before", () => {
    const reader = formatOf("combined").createReader(ALL);
    const entry = new LogEntry();
    for (const request of [REQUEST, { ...REQUEST, user: undefined, forwardedFor: undefined }]) {
      const bytes = Buffer.from(toLogLine("combined", request));
      expect(reader.read(bytes, 0, bytes.length, entry)).toBe(true);
    }
    expect(entry).toMatchObject({ user: undefined, forwardedFor: undefined });
  });

  it("escaped bytes of a request are those that were sent", () => {
    const line = toLogLine("combined", { ...REQUEST, path: '/a\\x22b\\\\c\\"d' });
    expect(read("combined", line)).toMatchObject({ path: '/a"b\\c"d' });
  });

  it.each([
    ["a[b", "a[b"],
    ["[", "["],
    ["x [17/Nov/2025:00:00:00 +0000] y", "x [17/Nov/2025:00:00:00 +0000] y"],
    ["a] b", "a] b"],
    ["- [x", "- [x"],
    ["- [17/Nov/2025:00:00:00 +0000] y", "- [17/Nov/2025:00:00:00 +0000] y"],
    ['a] \\"', 'a] "'],
    ['""', undefined],
  ])("a client can't hide its lines behind the user name %j", (written, user) => {
    const line = toLogLine("combined", { ...REQUEST, user: written });
    expect(read("combined", line)).toMatchObject({ atMs: NOON, method: "DELETE", user });
  });

  it("a client that is not an address, and a line without a request, are malformed", () => {
    const others = ["host.example.com", "256.0.0.1", "1.2.3", "10.0.0.1:80", "a:b:c", "::1%<b>"];
    for (const ip of others)
      expect(read("common", toLogLine("common", { ...REQUEST, ip }))).toBe(
        "the client is not an address",
      );
    for (const ip of ["::1", "fe80::1%eth0", "::ffff:10.0.0.1"])
      expect(read("common", toLogLine("common", { ...REQUEST, ip }))).toMatchObject({ ip });
    const empty = toLogLine("common", REQUEST).replace(/"DELETE.*1.1"/, '"-"');
    expect(read("common", empty)).toBe("no request line");
    const garbage = toLogLine("common", REQUEST).replace("DELETE", "\\x16\\x03\\x01");
    expect(read("common", garbage)).toBe("no request line");
  });

  it("API keys of JSON lines are hashed", () => {
    const fields = parseFieldMap("apiKey=key,time=t,ip=ip") as FieldMap;
    const reader = formatOf("json", fields).createReader(ALL);
    const bytes = Buffer.from(
      '{"t":1763380800,"ip":"::1","method":"GET","path":"/","key":"secret-1"}',
    );
    const entry = new LogEntry();
    reader.read(bytes, 0, bytes.length, entry);
    expect(entry.apiKey).toMatch(/^[\w-]{20,}$/);
    expect(entry.apiKey).not.toContain("secret");
  });

  it("JSON lines are malformed for what a field has, or for all fields that a fact may be in", () => {
    const usual = formatOf("json").createReader(ALL);
    const why = (changes: object) => {
      const line = { time: NOON, ip: "::1", method: "GET", path: "/", ...changes };
      const bytes = Buffer.from(JSON.stringify(line));
      return usual.read(bytes, 0, bytes.length, new LogEntry()) ? "" : usual.problem;
    };
    expect(why({})).toBe("");
    expect(why({ time: "1969-12-31T00:00:00Z" })).toBe("time is not a time from 1970 to 2100");
    expect(why({ time: undefined })).toMatch(/^no time in time, timestamp, .*, msec or date$/);
    expect(why({ ip: undefined, remote_addr: "unix:" })).toBe("remote_addr is not an address");
    expect(why({ ip: "" })).toMatch(/^no ip in ip, client_ip, /);
    expect(why({ method: "" })).toMatch(/^no method in method, request_method, /);
    expect(why({ path: "" })).toBe("no path in path, uri, request_uri, url or url.path");
    expect(why({ method: "", request: "\u0016\u0003" })).toBe("request is not a request line");
  });

  it("names of the prototype are fields like any other", () => {
    const line = '{"__proto__":{"time":1},"constructor":{"time":2},"ip":"::1"}';
    expect(read("json", line)).toBe("no time in at");
  });
});

describe("a field map", () => {
  it.each([
    ["ip", 'expected fact=field, got "ip"'],
    ["ip=", 'expected fact=field, got "ip="'],
    ["ips=x", 'unknown fact "ips"; did you mean ip?'],
    ["header.=x", 'expected header.NAME=field, got "header.=x"'],
  ])("%s is refused with what is wrong", (text, problem) => {
    expect(parseFieldMap(text)).toContain(problem);
  });
});

describe("times", () => {
  it.each([
    ["2026-11-17T12:00:00Z", NOON],
    ["2026-11-17T13:00:00+01:00", NOON],
    ["2026-11-17 12:00:00", NOON],
    ["2026-11-17T12:00:00.123456Z", NOON + 123],
    ["2026-11-17T13:00:00,5+0100", NOON + 500],
    ["2026-11-17 13:00:00 +0100", NOON],
    ["2026/11/17 12:00:00.250", NOON + 250],
    ["2026/11-17 12:00:00", Number.NaN],
    ["2026-02-29T12:00:00Z", Number.NaN],
    ["2028-02-29T12:00:00Z", Date.UTC(2028, 1, 29, 12)],
    ["17/Nov/2026:07:00:00 -0500", NOON],
    ["17/Nov/2026:12:00:00.250 +0000", NOON + 250],
    [NOON / 1_000, NOON],
    [`${NOON / 1_000}.5`, NOON + 500],
    [NOON, NOON],
    [NOON * 1_000, NOON],
    [NOON * 1_000_000, NOON],
    ["17/Nox/2026:12:00:00 +0000", Number.NaN],
    ["17/Nov/2026:25:00:00 +0000", Number.NaN],
    ["31/Dec/2026:23:59:60 +0000", Date.UTC(2027, 0, 1)],
    ["29/Feb/2028:12:00:00 +0000", Date.UTC(2028, 1, 29, 12)],
    ["29/Feb/2026:12:00:00 +0000", Number.NaN],
    ["00/Nov/2026:12:00:00 +0000", Number.NaN],
    ["99/Nov/2026:12:00:00 +0000", Number.NaN],
    ["17/Nov/0080:12:00:00 +0000", Number.NaN],
    ["2126-11-17T12:00:00Z", Number.NaN],
    [-1, Number.NaN],
    ["", Number.NaN],
    [null, Number.NaN],
    ["9".repeat(10_000), Number.NaN],
  ])("%j is %d", (value, atMs) => {
    expect(parseTime(value)).toBe(atMs);
  });
});
