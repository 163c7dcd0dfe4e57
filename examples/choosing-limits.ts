// Which limit should I set? A sample access log of an hour answers it: visitors, an integration that polls, and a scraper.
// `sluice suggest` finds limits that nearly no visitor meets, and `sluice replay` shows whom they would have refused.

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const command = fileURLToPath(new URL("../bin/sluice.js", import.meta.resolve("sluice-server")));
const folder = mkdtempSync(join(tmpdir(), "choosing-limits-"));
const [log, rules] = [join(folder, "access.log"), join(folder, "rules.yaml")];

/** A line as nginx writes it, this many seconds after noon. */
function line(second: number, ip: string, path: string): string {
  const time = new Date(Date.UTC(2026, 10, 17, 12, 0, second)).toISOString().slice(11, 19);
  return `${ip} - - [17/Nov/2026:${time} +0000] "GET ${path} HTTP/1.1" 200 512 "-" "sample/1.0"\n`;
}

/** The sample log: 500 visitors load three pages each, one address polls, and one takes every product. */
function sampleLog(): string {
  const lines: { second: number; text: string }[] = [];
  const add = (second: number, ip: string, path: string) =>
    lines.push({ second, text: line(second, ip, path) });
  for (let visitor = 0; visitor < 500; visitor++) {
    const start = visitor * 7;
    const ip = `198.51.${100 + (visitor >> 8)}.${visitor & 255}`;
    for (const [at, path] of ["/", "/products", `/products/${visitor}`].entries())
      add(start + at * 20, ip, path);
  }
  for (let second = 0; second < 3_600; second += 10) add(second, "203.0.113.5", "/api/status");
  for (let at = 0; at < 3_000; at++)
    add(600 + Math.floor(at / 5), "203.0.113.66", `/products/${at}`);
  return lines
    .toSorted((a, b) => a.second - b.second)
    .map(({ text }) => text)
    .join("");
}

/** What the command prints on its standard output. */
function sluice(...args: readonly string[]): string {
  return spawnSync(process.execPath, [command, ...args], { cwd: folder, encoding: "utf8" }).stdout;
}

writeFileSync(log, sampleLog());
const suggested = sluice("suggest", "access.log", "--by", "ip", "--refuse-at-most", "1%");
writeFileSync(rules, suggested);
console.log(suggested.split("\n").slice(8).join("\n"));
console.log(
  sluice("replay", "access.log", "--rules", "rules.yaml").split("\n").slice(0, 2).join("\n"),
);
rmSync(folder, { recursive: true });

// Prints:
//     limit:
//       # 501 of 502 callers never had more than 1 request counted in 1 second.
//       # The busiest had 10. 1 (0.199%) would have been refused.
//       # The log has whole seconds, so each second is counted together with the one before it.
//       - slidingWindowCounter: { limit: 1, windowMs: 1s }
//       # 501 of 502 callers never had more than 2 requests counted in 10 seconds.
//       # The busiest had 55. 1 (0.199%) would have been refused.
//       - slidingWindowCounter: { limit: 2, windowMs: 10s }
//       # 501 of 502 callers never had more than 7 requests counted in 1 minute.
//       # The busiest had 305. 1 (0.199%) would have been refused.
//       - slidingWindowCounter: { limit: 7, windowMs: 1m }
//       # 501 of 502 callers never had more than 400 requests counted in 1 hour (360, rounded up).
//       # The busiest had 3,000. 1 (0.199%) would have been refused.
//       - slidingWindowCounter: { limit: 400, windowMs: 1h }
//
// 4,860 requests of 502 callers in 59 minutes 50 seconds, from 2026-11-17 12:00:00 to 2026-11-17 12:59:50 UTC
// rules.yaml would have refused 2,939 (60.5%) requests, of 1 (0.199%) callers
