import { describe, expect, it } from "vitest";
import { BodyMeter } from "./body-meter.js";
import { DEPTH_MAX } from "./json-scanner.js";

const TOTAL = ["usage", "total_tokens"];

function meterOf(contentType: string | undefined, contentEncoding?: string): BodyMeter {
  return new BodyMeter([[[TOTAL]]], { contentType, contentEncoding });
}

function read(contentType: string, body: string): BodyMeter {
  const meter = meterOf(contentType);
  meter.read(new TextEncoder().encode(body));
  meter.end();
  return meter;
}

describe("which bodies are read", () => {
  it.each([
    ["application/json", undefined],
    ["Application/JSON; charset=UTF-8", "identity"],
    ["application/problem+json", undefined],
    ["text/event-stream", undefined],
    ["application/x-ndjson", undefined],
    ["application/jsonl; charset=utf-8", undefined],
  ])("%s with encoding %s", (type, encoding) => {
    expect(meterOf(type, encoding).problem).toBeUndefined();
  });

  it.each([
    [undefined, undefined, "type"],
    ["text/plain", undefined, "type"],
    ["application/json; charset=utf-16", undefined, "type"],
    ["application/json", "gzip", "encoding"],
    ["text/event-stream", "br", "encoding"],
    ["application/x-ndjson", "gzip", "encoding"],
    ["application/x-ndjson; charset=latin1", undefined, "type"],
  ])("not %s with encoding %s", (type, encoding, problem) => {
    expect(meterOf(type, encoding).problem).toBe(problem);
  });

  it("not what is nested too deeply, in a body and in an event", () => {
    const nested = (depth: number) => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
    expect(read("application/json", nested(DEPTH_MAX)).problem).toBeUndefined();
    expect(read("application/json", nested(DEPTH_MAX + 1)).problem).toBe("too-deep");
    const event = `data: {"usage":{"total_tokens":5},"x":${nested(DEPTH_MAX)}}\n\n`;
    const meter = read("text/event-stream", event);
    expect([meter.problem, meter.numberAt(TOTAL)]).toEqual(["too-deep", undefined]);
  });

  it("an empty body, as that of a HEAD request, which says nothing", () => {
    const meter = read("application/json", "");
    expect([meter.problem, meter.isComplete]).toEqual([undefined, true]);
    expect(meter.numberAt(TOTAL)).toBeUndefined();
  });
});

describe("what a body says", () => {
  it("is known of a stream before its end, and of JSON only then", () => {
    const stream = meterOf("text/event-stream");
    stream.read(new TextEncoder().encode('data: {"usage":{"total_tokens":5}}\n\ndata: {"us'));
    expect([stream.numberAt(TOTAL), stream.isComplete]).toEqual([5, false]);
    const json = meterOf("application/json");
    json.read(new TextEncoder().encode('{"usage":{"total_tokens":5}'));
    expect(json.numberAt(TOTAL)).toBeUndefined();
    json.read(new TextEncoder().encode("}"));
    json.end();
    expect(json.numberAt(TOTAL)).toBe(5);
  });

  it("is the last of duplicates, with what is below them", () => {
    const twice = '{"usage":{"total_tokens":5},"usage":{"total":1}}';
    expect(read("application/json", twice).numberAt(TOTAL)).toBeUndefined();
    const within = '{"usage":{"total_tokens":5,"total_tokens":6}}';
    expect(read("application/json", within).numberAt(TOTAL)).toBe(6);
  });

  it("keeps what an earlier event said if a later one says nothing usable", () => {
    const events = [
      '{"usage":{"total_tokens":5}}',
      '{"usage":null}',
      '{"usage":{"total_tokens":-1}}',
    ];
    const stream = events.map((data) => `data: ${data}\r\n\r\n`).join("");
    expect(read("text/event-stream", stream).numberAt(TOTAL)).toBe(5);
  });

  it("is the last number of each path in lines of JSON, also of a last line without an end", () => {
    // The shape of Ollama's streams: only the last line has the counts.
    const lines = [
      '{"message":{"content":"total_tokens"},"usage":{"total_tokens":1}}',
      "",
      "not JSON",
      '{"usage":{"total_tokens":-1}}',
      '{"done":true,"usage":{"total_tokens":42}}',
    ];
    for (const end of ["\n", "\r\n"]) {
      const body = lines.join(end);
      expect(read("application/x-ndjson", body).numberAt(TOTAL)).toBe(42);
      expect(read("application/stream+json", body + end).numberAt(TOTAL)).toBe(42);
      const cut = read("application/x-ndjson", body.slice(0, -1));
      expect([cut.numberAt(TOTAL), cut.problem]).toEqual([1, undefined]);
      const pieces = meterOf("application/x-ndjson");
      for (const byte of new TextEncoder().encode(body))
        pieces.read(new Uint8Array([9, byte, 9]), 1, 2);
      expect(pieces.numberAt(TOTAL)).toBe(1);
      pieces.end();
      expect(pieces.numberAt(TOTAL)).toBe(42);
    }
  });

  it("goes over several lines of data, which are joined by line feeds", () => {
    const stream = (...lines: string[]) => lines.map((line) => `data: ${line}\n`).join("");
    const split = stream('{"usage":', '{"total_tokens":', "12}}");
    expect(read("text/event-stream", `${split}\n`).numberAt(TOTAL)).toBe(12);
    const within = stream('{"usage":{"total_tokens":1', "2}}");
    expect(read("text/event-stream", `${within}\n`).numberAt(TOTAL)).toBeUndefined();
  });

  it("is read where names are written with escapes", () => {
    const stream = 'data: {"us\\u0061ge":{"\\u0074otal_tokens":5}}\n\n';
    expect(read("text/event-stream", stream).numberAt(TOTAL)).toBe(5);
  });
});

describe("the time that reading takes", () => {
  const EVENTS = 4_000;
  const LIKELY = '{"a":"\\u0041\\"total_tokens\\"","b":[[[{"total_tokens":1}]]]}';
  const UNLIKELY = '{"a":"nothing that is looked for"}';

  it.each([
    ["line feeds", "\n", LIKELY],
    ["carriage returns", "\r", LIKELY],
    ["both", "\r\n", LIKELY],
    ["line feeds, nothing to find", "\n", UNLIKELY],
    ["carriage returns, nothing to find", "\r", UNLIKELY],
  ])("grows with the size of a stream of events and no faster: %s", (_, end, data) => {
    const event = `data: ${data}${end}${end}`;
    const last = `data: {"usage":{"total_tokens":7}}${end}${end}`;
    const timeOf = (count: number) => {
      const body = new TextEncoder().encode(event.repeat(count) + last);
      const startUs = process.cpuUsage().user;
      const meter = meterOf("text/event-stream");
      meter.read(body);
      meter.end();
      expect(meter.numberAt(TOTAL)).toBe(7);
      return process.cpuUsage().user - startUs;
    };
    timeOf(EVENTS);
    const short = Math.min(timeOf(EVENTS), timeOf(EVENTS), timeOf(EVENTS));
    // As often as the short one: a collection of garbage may fall into any of them.
    const long = Math.min(timeOf(8 * EVENTS), timeOf(8 * EVENTS), timeOf(8 * EVENTS));
    // Quadratic time would be 64 times as much.
    expect(long).toBeLessThan(32 * Math.max(short, 1_000));
  });
});
