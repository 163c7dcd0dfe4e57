// Over the built package: threads are started from files.

import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import {
  JSON_FIELDS,
  type LogLineFormat,
  makeFolder,
  makeTraffic,
  toLogLine,
} from "sluice-test-servers";
import { beforeAll, describe, expect, it, vi } from "vitest";
import type * as fieldMaps from "../formats/field-map.js";
import { type EntryNeeds, type LogEntry, NO_NEEDS } from "../log-entry.js";
import type * as logSources from "./log-source.js";
import type * as readings from "./read-logs.js";
import type * as threads from "./reading-in-thread.js";

const built = (name: string) =>
  fileURLToPath(new URL(`../../../dist/access-logs/${name}`, import.meta.url));
const NOON = Date.UTC(2026, 10, 17, 12);
const FORMATS: readonly LogLineFormat[] = ["combined", "common", "caddy", "envoy", "alb", "json"];
const ALL: EntryNeeds = { headers: new Set(["user-agent"]), forwardedFor: true };
const folder = makeFolder("reading-in-thread");

let openSources: typeof logSources.openSources;
let readLogs: typeof readings.readLogs;
let readInThread: typeof threads.readInThread;
let parseFieldMap: typeof fieldMaps.parseFieldMap;

beforeAll(async () => {
  if (!existsSync(built("reading/reading-thread.js")))
    throw new Error("packages/server/dist is missing: run npm run build");
  ({ openSources } = (await import(built("reading/log-source.js"))) as typeof logSources);
  ({ readLogs } = (await import(built("reading/read-logs.js"))) as typeof readings);
  ({ readInThread } = (await import(built("reading/reading-in-thread.js"))) as typeof threads);
  ({ parseFieldMap } = (await import(built("formats/field-map.js"))) as typeof fieldMaps);
});

function makeLog(format: LogLineFormat, requests = 6_000): string {
  const traffic = makeTraffic({ requests, callers: 500, startMs: NOON, perSecond: 100 });
  const lines = [...traffic].map((request, at) =>
    toLogLine(format, {
      ...request,
      atMs: request.atMs + ((at * 7_919) % 5) * 1_000,
      user: at % 3 === 0 ? `user ${at % 50}` : undefined,
      forwardedFor: at % 4 === 0 ? "198.51.100.7" : undefined,
    }),
  );
  for (let at = 0; at < lines.length; at += 997) lines.splice(at, 0, `garbage ${at}`);
  return lines.join("\n");
}

function write(name: string, bytes: string | Buffer): string {
  const path = join(folder, name);
  writeFileSync(path, bytes);
  return path;
}

async function* inChunks(bytes: Buffer) {
  for (let at = 0; at < bytes.length; at += 10_000) yield bytes.subarray(at, at + 10_000);
}

/** All that is passed on, and the summary. Logs of an unknown size are read in a thread. */
async function readAll(sources: readonly logSources.LogSource[], isInThread: boolean) {
  const sizeBytes = isInThread ? undefined : 0;
  const entries: unknown[] = [];
  let storedBytes = 0;
  const summary = await readLogs(
    sources.map((source) => ({ ...source, sizeBytes })),
    {
      needs: ALL,
      take: (entry: LogEntry) => {
        const { lines: _, clients: __, lineAt: ___, client: ____, ...facts } = entry.fillIn();
        entries.push({ ...facts, headers: entry.headers && { ...entry.headers } });
      },
      onRead: (bytes) => {
        storedBytes += bytes;
      },
    },
  );
  return { summary, entries, storedBytes };
}

describe("a thread that reads logs", () => {
  it.each(FORMATS)("says the same of a log in the format %s", async (format) => {
    const text = makeLog(format);
    const fields = parseFieldMap(JSON_FIELDS) as fieldMaps.FieldMap;
    const open = () =>
      openSources([write(`${format}.log`, text)], format === "json" ? { fields } : {});
    const inThread = await readAll(await open(), true);
    expect(inThread.entries.length).toBeGreaterThan(5_990);
    expect(inThread.summary.malformed).toBe(7);
    expect(inThread).toEqual(await readAll(await open(), false));
  });

  it("says the same of rotated, compressed and piped logs", async () => {
    const [first, second] = [makeLog("combined"), makeLog("common")];
    const paths = [write("log.2.gz", gzipSync(first)), write("log.1", second)];
    const stream = () => ({ name: "-", stream: inChunks(gzipSync(makeLog("caddy"))) });
    const read = async (isInThread: boolean) =>
      readAll(await openSources([...paths, stream()], {}), isInThread);
    const inThread = await read(true);
    expect(inThread.summary.files).toHaveLength(3);
    expect(inThread).toEqual(await read(false));
  });

  it("reads a stream that is cut off as far as it goes, and says so", async () => {
    const bytes = gzipSync(makeLog("combined"));
    const stream = inChunks(bytes.subarray(0, bytes.length >> 1));
    const { summary, entries } = await readAll(
      await openSources([{ name: "-", stream }], {}),
      true,
    );
    expect(summary.files[0]?.problem).toMatch(/^damaged or cut off: /);
    expect(entries.length).toBeGreaterThan(1_000);
  });

  it("fails as the file system does, of files that it opens and of streams", async () => {
    const path = write("gone.log", makeLog("combined"));
    const sources = await openSources([path], {});
    rmSync(path);
    await expect(readAll(sources, true)).rejects.toMatchObject({
      code: "ENOENT",
      syscall: "open",
      path,
      message: expect.stringContaining("no such file"),
    });
    async function* failing() {
      yield* inChunks(Buffer.from(makeLog("combined")));
      throw Object.assign(new Error("EIO: broken"), { code: "EIO", syscall: "read" });
    }
    const broken = await openSources([{ name: "-", stream: failing() }], {});
    await expect(readAll(broken, true)).rejects.toMatchObject({ code: "EIO" });
  });

  it("fails if the thread does", async () => {
    const sources = await openSources([write("sound.log", makeLog("combined"))], {});
    const unreadable = sources.map((source) => {
      return { ...source, format: { ...source.format, name: "json", fields: {} } };
    });
    await expect(readAll(unreadable as unknown as typeof sources, true)).rejects.toThrow(
      "Cannot read properties of undefined",
    );
  });

  it("waits for its consumer, and ends when that leaves", async () => {
    const chunk = Buffer.from(`${makeLog("combined", 2_000)}\n`);
    let chunks = 0;
    async function* endless() {
      for (;;) {
        chunks++;
        yield chunk;
      }
    }
    const sources = await openSources([{ name: "-", stream: endless() }], {});
    const workers = () =>
      process.getActiveResourcesInfo().filter((name) => name === "MessagePort").length;
    const before = workers();
    const portions = readInThread(sources, NO_NEEDS);
    await portions.next();
    let seen = -1;
    await vi.waitFor(
      () => {
        const isStill = seen === chunks;
        seen = chunks;
        expect(isStill).toBe(true);
      },
      { interval: 300, timeout: 10_000 },
    );
    expect(chunks).toBeLessThan(40);
    await portions.return(undefined);
    // A port that was closed is gone in a later turn of the event loop.
    await vi.waitFor(() => expect(workers()).toBe(before), { timeout: 10_000 });
  });
});
