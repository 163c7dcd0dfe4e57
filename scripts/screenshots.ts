// `npm run screenshots`: the pictures of the docs, taken in Chromium from the demo with its own traffic, and written to
// docs/images. Run it when a page has changed its looks, and commit what it wrote.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Browser, startBrowser, startDemo } from "sluice-test-servers";
import { toPalette } from "./png/palette.js";

/** A picture. */
interface Shot {
  readonly name: string;
  /** Below /dashboard/. */
  readonly path: string;
  readonly heightPx?: number;
  /** How long the page is open before the picture: streams come once a second, sparklines begin with the page. */
  readonly openMs?: number;
}

const SHOTS: readonly Shot[] = [
  { name: "dashboard-live", path: "" },
  { name: "dashboard-rules", path: "rules", openMs: 45_000 },
  { name: "playground", path: "playground", heightPx: 1_060 },
];
const FOLDER = "docs/images";
const WIDTH_PX = 1_280;
const HEIGHT_PX = 800;
/** How long the demo's clients send requests before the first picture: the chart of Live shows five minutes. */
const WARM_UP_MS = 290_000;
const OPEN_MS = 2_500;
const BYTES_MAX = 150_000;

const demo = await startDemo();
const browser = await startBrowser();
try {
  mkdirSync(FOLDER, { recursive: true });
  await sleep(WARM_UP_MS);
  for (const shot of SHOTS) await take(browser, shot);
} finally {
  await browser.close();
  await demo.stop();
}

async function take(opened: Browser, shot: Shot): Promise<void> {
  const { name, path, heightPx = HEIGHT_PX, openMs = OPEN_MS } = shot;
  const viewport = { width: WIDTH_PX, height: heightPx };
  const context = await opened.newContext({ viewport, colorScheme: "light" });
  const page = await context.newPage();
  await page.goto(`${demo.dashboard}${path}`);
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.locator("main [aria-busy=true]").first().waitFor({ state: "detached" });
  await sleep(openMs);
  const png = toPalette(await page.screenshot());
  await context.close();
  if (png.length > BYTES_MAX)
    throw new Error(`${name}.png has ${png.length} bytes, more than ${BYTES_MAX}`);
  writeFileSync(join(FOLDER, `${name}.png`), png);
  console.log(`${FOLDER}/${name}.png  ${Math.round(png.length / 1_000)} kB`);
}
