// What it costs to load the library: processor time of one import in a fresh process, over that of a peer. Sluice is
// bundled first, as npm packs it. Processor time, because a process that starts is mostly waiting on a busy machine;
// on an idle one, it is the time on the clock.

import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Bench } from "../bench.js";
import { effort } from "../effort.js";
import { inTurn, median, summarise } from "../harness.js";

const ROUNDS = effort({ full: 21, quick: 3 });
const PACKAGE = resolve("packages/sluice");

/** Milliseconds of both sides, one figure for each round. */
interface Times {
  readonly ours: readonly number[];
  readonly theirs: readonly number[];
}

export const importExpress: Bench<Times> = toBench("express", {
  subject: "sluice/express",
  reference: "express-rate-limit",
});

export const importCore: Bench<Times> = toBench("core", {
  subject: "sluice",
  reference: "rate-limiter-flexible",
});

function toBench(name: string, sides: { subject: string; reference: string }): Bench<Times> {
  return {
    id: `import/${name}`,
    unit: "ratio",
    bound: { is: "at most", goal: 1 },
    parts: ["all"],
    runPart: () => measure(sides),
    conclude: ([{ ours, theirs }]) => {
      const { value, spread } = summarise(ours.map((ms, round) => ms / theirs[round]));
      const note = `${median(ours).toFixed(1)} ms over ${median(theirs).toFixed(1)} ms`;
      const subject = `import "${sides.subject}"`;
      const reference = `import "${sides.reference}"`;
      return [{ subject, reference, ratio: value, value, spread, note }];
    },
  };
}

function measure({ subject, reference }: { subject: string; reference: string }): Times {
  const folder = install();
  const sides = [
    { specifier: subject, cwd: folder, ms: [] as number[] },
    { specifier: reference, cwd: process.cwd(), ms: [] as number[] },
  ];
  try {
    // The first round is dropped: it brings the files into the system's cache.
    for (let round = -1; round < ROUNDS; round++) {
      for (const { specifier, cwd, ms } of inTurn(sides, round)) {
        const took = importMs(specifier, cwd);
        if (round >= 0) ms.push(took);
      }
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
  return { ours: sides[0].ms, theirs: sides[1].ms };
}

/** Makes a folder in which programs find Sluice as its users do. */
function install(): string {
  const folder = mkdtempSync(join(tmpdir(), "sluice-import-"));
  const at = join(folder, "node_modules/sluice");
  mkdirSync(at, { recursive: true });
  copyFileSync(join(PACKAGE, "package.json"), join(at, "package.json"));
  execFileSync(process.execPath, [resolve("scripts/bundle.mjs"), "--to", join(at, "dist")], {
    cwd: PACKAGE,
  });
  return folder;
}

function importMs(specifier: string, cwd: string): number {
  const program = `
    const before = process.cpuUsage();
    await import(${JSON.stringify(specifier)});
    const { user, system } = process.cpuUsage(before);
    console.log((user + system) / 1_000);
  `;
  const args = ["--input-type=module", "--eval", program];
  return Number(execFileSync(process.execPath, args, { cwd, encoding: "utf8" }));
}
