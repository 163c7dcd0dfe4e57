import { execFileSync, spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { type LoggedRequest, makeFolder, toLogLine } from "sluice-test-servers";
import { describe, expect, it } from "vitest";
import { type EntryNeeds, NO_NEEDS } from "../log-entry.js";
import { LINE_BYTES_MAX } from "./line-splitter.js";
import { type LogInput, openSources } from "./log-source.js";
import { type ReadSummary, readLogs } from "./read-logs.js";
import type { ReorderBounds } from "./reorder-buffer.js";

const NOON = Date.UTC(2026, 10, 17, 12);
const folder = makeFolder("logs");

function write(name: string, bytes: string | Buffer): string {
  const path = join(folder, name);
  writeFileSync(path, bytes);
  return path;
}

/** A line of a request this many seconds after noon. */
function line(seconds: number, changes: Partial<LoggedRequest> = {}): string {
  const atMs = NOON + seconds * 1_000;
  const request = { atMs, ip: "203.0.113.7", method: "GET", path: `/${seconds}`, status: 200 };
  return toLogLine("combined", { bodyBytes: 5, ...request, ...changes });
}

interface Read extends ReadSummary {
  /** Path and seconds after noon of each request. */
  readonly requests: readonly string[];
}

async function read(inputs: readonly LogInput[], bounds?: Partial<ReorderBounds>): Promise<Read> {
  const requests: string[] = [];
  const sources = await openSources(inputs, {});
  const summary = await readLogs(sources, {
    needs: NO_NEEDS,
    bounds,
    take: (entry) => requests.push(`${entry.fillIn().path} ${(entry.atMs - NOON) / 1_000}`),
  });
  return { ...summary, requests };
}

/** The same bytes in pieces of one size. */
function inPieces(text: string, size: number): LogInput {
  const bytes = Buffer.from(text);
  async function* pieces() {
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
  }
  return { name: "standard input", stream: pieces() };
}

describe("lines", () => {
  it.each([1, 2, 7, 100, 10_000])("are read whole from pieces of %d bytes", async (size) => {
    const text = `${line(0)}\r\n\n${line(1)}\n${line(2)}`;
    const { requests, lines, malformed } = await read([inPieces(text, size)]);
    expect({ requests, lines, malformed }).toEqual({
      requests: ["/0 0", "/1 1", "/2 2"],
      lines: 3,
      malformed: 0,
    });
  });

  it.each([1, 2, 10_000])("follow a byte order mark, in pieces of %d bytes", async (size) => {
    const { requests, malformed } = await read([inPieces(`\ufeff${line(0)}\n${line(1)}`, size)]);
    expect({ requests, malformed }).toEqual({ requests: ["/0 0", "/1 1"], malformed: 0 });
    expect((await read([inPieces(`\ufeff${line(0)}\n`, size)])).lines).toBe(1);
  });

  it("that are malformed are counted, and the first shown with their numbers", async () => {
    const bad = Array.from({ length: 7 }, (_, at) => `garbage ${at}`).join("\n");
    const path = write("malformed.log", `${line(0)}\n\n${bad}\n${line(1)}\n`);
    const { requests, malformed, malformedLines, files } = await read([path]);
    expect(requests).toHaveLength(2);
    expect(malformed).toBe(7);
    expect(malformedLines).toHaveLength(5);
    expect(malformedLines[0]).toEqual({
      file: path,
      line: 3,
      why: "no time such as [17/Nov/2026:12:00:00 +0000]",
      text: "garbage 0",
    });
    expect(files).toMatchObject([{ lines: 9, malformed: 7, problem: null }]);
  });

  it.each([1_000, 800_000])(
    "that are too long are malformed, in pieces of %d bytes",
    async (size) => {
      const long = line(1, { path: `/${"x".repeat(LINE_BYTES_MAX)}` });
      const { requests, malformedLines } = await read([
        inPieces(`${line(0)}\n${long}\n${line(2)}\n${long}`, size),
      ]);
      expect(requests).toEqual(["/0 0", "/2 2"]);
      expect(malformedLines.map(({ line, why }) => [line, why])).toEqual([
        [2, "longer than 262144 bytes"],
        [4, "longer than 262144 bytes"],
      ]);
      expect(malformedLines[0]?.text.length).toBeLessThanOrEqual(120);
    },
  );

  it("that nginx makes of 32 KB of headers, each byte escaped, are read", async () => {
    const path = `/${"\\xE9".repeat(8_000)}`;
    const long = line(0, { path, userAgent: "\\xE9".repeat(24_000) });
    expect(long.length).toBeGreaterThan(128_000);
    const { requests, malformed } = await read([inPieces(`${long}\n${line(1)}`, 16_384)]);
    expect({ malformed, paths: requests.map((request) => request.length) }).toEqual({
      malformed: 0,
      paths: [8_003, 4],
    });
  });

  it("that are out of order within the window are put in order, equal ones as they came", async () => {
    const seconds = [0, 3, 1, 2, 2, 9, 4, 30, 25, 31];
    const text = seconds.map((at, i) => line(at, { path: `/${i}` })).join("\n");
    const { requests, late } = await read([inPieces(text, 50)]);
    expect(requests).toEqual(
      seconds
        .map((at, i) => ({ at, i }))
        .toSorted((a, b) => a.at - b.at || a.i - b.i)
        .map(({ at, i }) => `/${i} ${at}`),
    );
    expect(late).toBe(0);
  });

  it("that come later than the window are counted as late, and time never goes back", async () => {
    const text = [0, 100, 200, 50, 300].map((at) => line(at)).join("\n");
    const { requests, late } = await read([inPieces(text, 1_000)], { windowMs: 10_000 });
    expect(late).toBe(1);
    expect(requests).toEqual(["/0 0", "/100 100", "/50 100", "/200 200", "/300 300"]);
  });

  it("with a time in the far future are late, and those after them are not", async () => {
    const seconds = Array.from({ length: 60 }, (_, at) => at);
    const lines = seconds.map((at) => line(at));
    for (const at of [0, 30, 50]) {
      const text = [...lines.slice(0, at), line(1e8, { path: "/x" }), ...lines.slice(at)].join(
        "\n",
      );
      const { requests, late, farAhead } = await read([inPieces(text, 1_000)]);
      expect({ late, farAhead }).toEqual({ late: 1, farAhead: 1 });
      expect(requests).toHaveLength(61);
      expect(requests.filter((request) => !request.startsWith("/x"))).toEqual(
        seconds.map((second) => `/${second} ${second}`),
      );
      expect(requests).toContain(`/x ${Math.max(0, at - 1)}`);
    }
  });

  it("wait in bounded room, beyond which the oldest half is taken", async () => {
    const text = Array.from({ length: 1_000 }, (_, at) => line(at % 2, { path: `/${at}` })).join(
      "\n",
    );
    const { requests, late, lateForRoom } = await read([inPieces(text, 4_096)], { linesMax: 64 });
    expect(requests).toHaveLength(1_000);
    expect(late).toBeGreaterThan(0);
    expect(lateForRoom).toBe(late);
  });

  it("stay as they come without a window, those of an earlier time are late", async () => {
    const text = [5, 3, 4, 6].map((at) => line(at)).join("\n");
    const { requests, late, lateForRoom } = await read([inPieces(text, 50)], { windowMs: 0 });
    expect(requests).toEqual(["/5 5", "/3 5", "/4 5", "/6 6"]);
    expect({ late, lateForRoom }).toEqual({ late: 2, lateForRoom: 0 });
  });

  it("are of whole seconds or not", async () => {
    const text = [0, 1].map((at) => line(at)).join("\n");
    expect((await read([inPieces(text, 50)])).isWholeSeconds).toBe(true);
    const finer = text.replace(":01 +0000", ":01.250 +0000");
    expect((await read([inPieces(finer, 50)])).isWholeSeconds).toBe(false);
  });
});

describe("files", () => {
  const days = [0, 86_400, 172_800];
  const textOf = (day: number) => `${line(day)}\n${line(day + 1)}\n`;
  const wanted = days.flatMap((day) => [`/${day} ${day}`, `/${day + 1} ${day + 1}`]);

  it("that were rotated and compressed are read in the order of their times", async () => {
    const paths = [
      write("access.log", textOf(172_800)),
      write("access.log.1", textOf(86_400)),
      write("access.log.2.gz", gzipSync(textOf(0))),
    ];
    const { requests, files } = await read(paths);
    expect(requests).toEqual(wanted);
    expect(files.map(({ name }) => name)).toEqual(paths.toReversed());
  });

  it("of several gzip members are read to the end", async () => {
    const path = write("members.gz", Buffer.concat(days.map((day) => gzipSync(textOf(day)))));
    expect((await read([path])).requests).toEqual(wanted);
  });

  it("of zstd are decompressed, also of several frames and from the standard input", async () => {
    const frame = Buffer.from(ZSTD, "base64");
    const expected = ["/one 0", "/two 1", "/three 2"];
    expect((await read([write("access.zst", frame)])).requests).toEqual(expected);
    expect(await read([write("two.zst", Buffer.concat([frame, frame]))])).toMatchObject({
      lines: 6,
    });
    async function* pieces() {
      for (const byte of frame) yield Buffer.from([byte]);
    }
    expect((await read([{ name: "-", stream: pieces() }])).requests).toEqual(expected);
  });

  it.each(["gzip", "zstd"])(
    "of %s that are cut off are read as far as they go, and reported",
    async (kind) => {
      const text = Array.from({ length: 5_000 }, (_, at) =>
        line(Math.floor(at / 10), { path: `/${at * 7_919}` }),
      ).join("\n");
      const whole =
        kind === "gzip"
          ? gzipSync(text)
          : Buffer.concat([Buffer.from(ZSTD, "base64"), Buffer.from(ZSTD, "base64")]);
      const path = write(`cut.${kind}`, whole.subarray(0, Math.floor(whole.length * 0.75)));
      const { requests, files } = await read([path]);
      expect(requests.length).toBeGreaterThan(0);
      expect(files[0]?.problem).toMatch(/^damaged or cut off: /);
    },
  );

  it.each(["gzip", "zstd"])(
    "of %s that are cut off are the same from the standard input, however short",
    async (kind) => {
      const text = days.map(textOf).join("");
      const frame = Buffer.from(ZSTD, "base64");
      const whole = kind === "gzip" ? gzipSync(text) : Buffer.concat([frame, frame]);
      const cut = whole.subarray(0, whole.length - (kind === "gzip" ? 4 : 10));
      async function* stream() {
        yield cut;
      }
      const { requests, files } = await read([{ name: "standard input", stream: stream() }]);
      expect(requests).toHaveLength(kind === "gzip" ? 6 : 3);
      expect(files[0]?.problem).toMatch(/^damaged or cut off: /);
    },
  );

  it("of pzstd are decompressed, which begin with a frame to be skipped", async () => {
    const skipped = Buffer.from([0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4]);
    const path = write("pzstd.zst", Buffer.concat([skipped, Buffer.from(ZSTD, "base64")]));
    expect((await read([path])).requests).toEqual(["/one 0", "/two 1", "/three 2"]);
  });

  it("that are pipes are read from their start, once", async () => {
    const text = Array.from({ length: 2_000 }, (_, at) => line(at)).join("\n");
    for (const [name, bytes] of [
      ["plain", Buffer.from(text)],
      ["compressed", gzipSync(text)],
    ] as const) {
      const pipe = join(folder, `pipe-${name}`);
      execFileSync("mkfifo", [pipe]);
      const stored = write(`piped-${name}`, bytes);
      const writing = spawn("sh", ["-c", 'cat "$0" > "$1"', stored, pipe]);
      const { requests, files } = await read([pipe]);
      expect(requests).toHaveLength(2_000);
      expect(files).toMatchObject([{ name: pipe, lines: 2_000, problem: null }]);
      writing.kill();
    }
  });

  it("that are pipes count every byte that was read, those by which the format was detected too", async () => {
    const text = Array.from({ length: 100 }, (_, at) => line(at)).join("\n");
    const sources = await openSources([inPieces(text, 1_000)], {});
    let bytes = 0;
    const onRead = (read: number) => {
      bytes += read;
    };
    await readLogs(sources, { needs: NO_NEEDS, take: () => {}, onRead });
    expect(bytes).toBe(text.length);
  });

  it("have a reader only while they are read", async () => {
    const paths = days.map((day) => write(`lazy.${day}`, textOf(day)));
    const sources = await openSources(paths, {});
    const events: string[] = [];
    const watched = sources.map((source) => ({
      ...source,
      format: {
        ...source.format,
        createReader: (needs: EntryNeeds) => {
          events.push("reader");
          return source.format.createReader(needs);
        },
      },
      open: (onRead: (bytes: number) => void) => {
        events.push("open");
        return source.open(onRead);
      },
    }));
    await readLogs(watched, { needs: NO_NEEDS, take: () => {} });
    expect(events).toEqual(["reader", "open", "reader", "open", "reader", "open"]);
  });

  it("are not damaged if what takes their requests fails", async () => {
    const sources = await openSources([write("sound.log", textOf(0))], {});
    const take = () => {
      throw new Error("out of order");
    };
    await expect(
      readLogs(sources, { needs: NO_NEEDS, bounds: { windowMs: 0 }, take }),
    ).rejects.toThrow("out of order");
  });

  it("without any line are read as nothing", async () => {
    const { lines, requests, files } = await read([write("empty.log", "")]);
    expect({ lines, requests }).toEqual({ lines: 0, requests: [] });
    expect(files).toMatchObject([{ format: "empty", problem: null }]);
  });

  it("that are not there, or in no known format, are errors that name them", async () => {
    await expect(read([join(folder, "none.log")])).rejects.toMatchObject({ code: "ENOENT" });
    const unknown = write("unknown.log", "what is this\nand this\n");
    await expect(read([unknown])).rejects.toThrow(
      "unknown.log: no known format reads its first lines; name it with --format",
    );
    const json = write("json.log", '{"when":"12:00","ip":"::1","method":"GET","path":"/"}\n');
    await expect(read([json])).rejects.toThrow(
      /json.log: its lines are JSON, but malformed: no time in time, timestamp, .* or date; name the fields with --fields/,
    );
  });

  it("that begin with many requests which no server understands are detected all the same", async () => {
    const scan = '203.0.113.9 - - [17/Nov/2026:12:00:00 +0000] "\\x16\\x03\\x01" 400 157 "-" "-"\n';
    const { requests, malformed } = await read([
      inPieces(`${scan.repeat(500)}${line(1)}\n`, 5_000),
    ]);
    expect({ requests, malformed }).toEqual({ requests: ["/1 1"], malformed: 500 });
  });

  it.each([
    ["BZh91AY&SY", "compressed with bzip2; decompress it"],
    ["\xfd7zXZ\0\0\x04", "compressed with xz; decompress it"],
    ["PK\x03\x04", "a zip archive; decompress it"],
    ["\xff\xfe1\x000\0", "in UTF-16; convert it to UTF-8"],
  ])("that are not lines are refused with what they are: %j", async (start, what) => {
    const path = write("foreign", Buffer.from(`${start}${line(0)}\n`, "latin1"));
    await expect(openSources([path], { format: "combined" })).rejects.toThrow(`foreign: ${what}`);
  });
});

/** Three lines, /one to /three, by `zstd -19`. */
const ZSTD =
  "KLUv/QRopQIA8oQQEYB9kKMV2XSK1LrNFH0DzOkBVl+U+z5AhX8UxCnHyDlhsDibMN0Tof7/j/Df/hs6baFHhudo2KGBBBJYSeeUL+lRBQAT4w3orsA5IN9RIcMZoooLVQ==";
