import { describe, expect, it } from "vitest";
import { readLog } from "./read-log.js";

const AT = Date.UTC(2026, 10, 16, 12, 0, 5);

describe("a log that was pasted", () => {
  it.each([
    ["ISO in UTC", "2026-11-16T12:00:05Z", AT],
    ["ISO with an offset and a fraction", "2026-11-16T13:00:05.250+01:00", AT + 250],
    ["ISO without a zone, read as UTC", "2026-11-16 12:00:05,5 INFO request", AT + 500],
    ["seconds since 1970", `${AT / 1_000}`, AT],
    ["milliseconds since 1970", `${AT + 7}`, AT + 7],
    [
      "a common log line",
      '203.0.113.7 - - [16/Nov/2026:12:00:05 +0000] "GET / HTTP/1.1" 200 5',
      AT,
    ],
    ["a common log line in another zone", "::1 - - [16/Nov/2026:07:00:05 -0500] -", AT],
  ])("may have times as %s", (_, line, atMs) => {
    expect(readLog(line).requests).toEqual([{ atMs, client: 0 }]);
  });

  it("counts lines without a time, and shows the first", () => {
    const { requests, malformed, firstMalformed } = readLog(
      `${AT}\n\nyesterday\n2026-99-99T00:00:00Z\n${AT + 1}\n`,
    );
    expect(requests).toHaveLength(2);
    expect(malformed).toBe(2);
    expect(firstMalformed).toEqual({ line: 3, text: "yesterday" });
  });

  it("is sorted by time, and knows clients by the first word of an access log", () => {
    const line = (client: string, second: number) =>
      `${client} - - [16/Nov/2026:12:00:0${second} +0000] "GET /"`;
    const { requests } = readLog([line("a", 3), line("b", 1), line("a", 2)].join("\n"));
    expect(requests.map(({ atMs, client }) => [(atMs - AT) / 1_000, client])).toEqual([
      [-4, 1],
      [-3, 0],
      [-2, 0],
    ]);
  });
});
