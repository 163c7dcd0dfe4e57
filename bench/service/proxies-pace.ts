// The process that asks at a pace: `proxies-pace.js PORT`. Told a rate and a number of seconds over the channel to
// its parent, it sends that many requests a second, whether or not earlier ones were answered, and tells how long
// the slowest of a hundred and of a thousand took, in milliseconds. wrk asks only as fast as it is answered.

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

if (process.send !== undefined && process.argv[1] === import.meta.filename) {
  const free: Socket[] = [];
  const took: number[] = [];
  for (let i = 0; i < CONNECTIONS; i++) open(Number(process.argv[2]), free, took);
  process.on("disconnect", () => process.exit(0));
  process.on("message", async (pace: Pace) => {
    took.length = 0;
    await ask(pace, free);
    process.send?.(toWaits(took));
  });
}

/** A connection that notes how long each answer took, and is free then. Answers are small: they come whole. */
function open(port: number, free: Socket[], took: number[]): void {
  const socket = connect({ host: "127.0.0.1", port, noDelay: true });
  const sent = socket as Socket & { sentMs?: number };
  socket.once("connect", () => free.push(socket));
  socket.on("data", () => {
    took.push(performance.now() - (sent.sentMs ?? 0));
    free.push(socket);
  });
}

function ask({ perSec, seconds }: Pace, free: Socket[]): Promise<void> {
  const startMs = performance.now();
  let asked = 0;
  return new Promise((resolve, reject) => {
    const beat = setInterval(() => {
      const due = ((performance.now() - startMs) / 1_000) * perSec;
      for (; asked < due; asked++) {
        const socket = free.shift() as (Socket & { sentMs?: number }) | undefined;
        if (socket === undefined) return reject(new Error("no answers at this pace"));
        socket.sentMs = performance.now();
        socket.write(GET, "latin1");
      }
      if (due < perSec * seconds) return;
      clearInterval(beat);
      resolve();
    }, BEAT_MS);
  });
}

function toWaits(took: readonly number[]): Waits {
  const sorted = Float64Array.from(took).sort();
  const at = (share: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
  return { p50: at(0.5), p99: at(0.99), p999: at(0.999) };
}
