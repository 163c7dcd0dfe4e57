// The process that sends requests at a fixed rate: `proxies-pace.js PORT`. Its parent sends it a rate and a number
// of seconds. It sends that many requests a second, whether or not earlier ones were answered, and reports the
// slowest of a hundred and of a thousand, in milliseconds. wrk can't do this: it sends only as fast as it gets
// answers.

import { connect, type Socket } from "node:net";
import { performance } from "node:perf_hooks";

const CONNECTIONS = 64;
const GET = "GET / HTTP/1.1\r\nHost: api.example.com\r\n\r\n";
const BEAT_MS = 1;

/** How fast to ask, and how long. */
export interface Pace {
  readonly perSec: number;
  readonly seconds: number;
}

/** How long requests took, in milliseconds. */
export interface Waits {
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
}

type Asked = Socket & { dueMs?: number };

if (process.send !== undefined && process.argv[1] === import.meta.filename) {
  const free: Asked[] = [];
  const took: number[] = [];
  for (let i = 0; i < CONNECTIONS; i++) free.push(open(Number(process.argv[2]), free, took));
  process.on("disconnect", () => process.exit(0));
  process.on("message", async (pace: Pace) => {
    took.length = 0;
    await ask(pace, free);
    process.send?.(toWaits(took));
  });
}

/** A connection that notes how long each answer took, and is free then. Answers are small: they come whole. */
function open(port: number, free: Asked[], took: number[]): Asked {
  const socket: Asked = connect({ host: "127.0.0.1", port, noDelay: true });
  socket.on("data", () => {
    took.push(performance.now() - (socket.dueMs ?? 0));
    free.push(socket);
  });
  return socket;
}

function ask({ perSec, seconds }: Pace, free: Asked[]): Promise<void> {
  const startMs = performance.now();
  const due: number[] = [];
  let asked = 0;
  return new Promise((resolve) => {
    const beat = setInterval(() => {
      const nowMs = performance.now();
      const total = Math.min((nowMs - startMs) / 1_000, seconds) * perSec;
      // Who finds no connection free waits, and its time counts from now.
      for (; asked < total; asked++) due.push(nowMs);
      while (due.length > 0 && free.length > 0) send(free.shift() as Asked, due.shift() as number);
      if (nowMs - startMs < seconds * 1_000 || due.length > 0 || free.length < CONNECTIONS) return;
      clearInterval(beat);
      resolve();
    }, BEAT_MS);
  });
}

function send(socket: Asked, dueMs: number): void {
  socket.dueMs = dueMs;
  socket.write(GET, "latin1");
}

function toWaits(took: readonly number[]): Waits {
  const sorted = Float64Array.from(took).sort();
  const at = (share: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
  return { p50: at(0.5), p99: at(0.99), p999: at(0.999) };
}
