// How long a new user waits for the Live page: from the start of the navigation until its first numbers are there, in
// Chromium on loopback with an empty cache, against the demo.

import { execFileSync } from "node:child_process";
import { type Browser, startBrowser, startDemo } from "sluice-test-servers";
import type { Bench } from "../bench.js";
import { effort } from "../effort.js";
import { summarise } from "../harness.js";

const ROUNDS = effort({ full: 15, quick: 3 });
/** What is used of a page. */
interface InPage {
  readonly document: { querySelector(selector: string): { textContent: string } | null };
  readonly performance: { now(): number };
}

export const dashboardFirstPaint: Bench<readonly number[]> = {
  id: "dashboard/first-paint",
  unit: "ms",
  bound: { is: "at most", bar: 1_500, goal: 500 },
  parts: ["all"],
  runPart: measure,
  conclude: ([times]) => [{ subject: "first numbers of the Live page", ...summarise(times) }],
};

async function measure(): Promise<readonly number[]> {
  execFileSync("npm", ["run", "-s", "dashboard"], { stdio: ["ignore", "ignore", "inherit"] });
  const demo = await startDemo();
  const browser = await startBrowser();
  try {
    const times: number[] = [];
    // The first round is dropped: it brings the browser's own files into the system's cache.
    for (let round = -1; round < ROUNDS; round++) {
      const tookMs = await openOnce(browser, demo.dashboard);
      if (round >= 0) times.push(tookMs);
    }
    return times;
  } finally {
    await browser.close();
    await demo.stop();
  }
}

/** Opens the page in a context of its own, so that nothing is cached. */
async function openOnce(browser: Browser, url: string): Promise<number> {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(url, { waitUntil: "commit" });
  const handle = await page.waitForFunction(timeOfNumbers, undefined, { polling: "raf" });
  const tookMs = Number(await handle.jsonValue());
  await context.close();
  return tookMs;
}

/** Runs in the page: the time since the navigation once the stream is open and the first figure counts something. */
function timeOfNumbers(): number | undefined {
  const { document, performance } = globalThis as unknown as InPage;
  const isOpen = document.querySelector(".live-connection .good") !== null;
  const first = document.querySelector(".figure")?.textContent ?? "";
  return isOpen && /[1-9]/.test(first) ? performance.now() : undefined;
}
