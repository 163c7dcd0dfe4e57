// The playground in a browser: shapes, sliders, drawing and logs, the URL that reproduces all of them, and what it copies.

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseRules } from "sluice/rules";
import { makeFolder, onStop, type Page, stopAll, toLogLine } from "sluice-test-servers";
import { build } from "vite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findingsOf } from "./axe.js";
import { openPage, startDashboard } from "./dashboard-fixture.js";

let url = "";

beforeAll(async () => {
  ({ url } = await startDashboard());
});
afterAll(stopAll);

/** What the card of an algorithm says. */
function cardOf(page: Page, name: string) {
  return page.getByRole("region", { name, exact: true });
}

/** The numbers of all algorithms. */
function summary(page: Page): Promise<string> {
  return page.getByRole("table").innerText();
}

/** The same view, opened by its URL in a page of its own. */
async function reopened(page: Page): Promise<string> {
  const { page: again, context, faults } = await openPage(page.url());
  const text = await summary(again);
  expect(faults).toEqual([]);
  await context.close();
  return text;
}

describe("the playground", () => {
  it("shows the double burst of a fixed window, and what clients see of it", async () => {
    const { page, context, faults } = await openPage(`${url}playground`);
    const fixed = cardOf(page, "Fixed window");
    await fixed.getByText("20 in one minute, limit 10").waitFor();
    await expect.poll(() => fixed.innerText()).toMatch(/Admits 20 within .* twice the limit/);
    await expect.poll(() => fixed.innerText()).toMatch(/200 OK at 1:00/);
    const log = cardOf(page, "Sliding window log");
    await expect
      .poll(() => log.innerText())
      .toMatch(/429 Too Many Requests[\s\S]*Retry-After:\s*60/);
    await page.getByLabel("Steady").check();
    await fixed.getByText("30 refused").waitFor();
    await page.waitForURL(/\?shape=steady$/);
    await page.goBack();
    await fixed.getByText("20 in one minute, limit 10").waitFor();
    expect(faults).toEqual([]);
    await context.close();
  });

  it("follows sliders moved by keyboard, and its URL reproduces the view", async () => {
    const { page, context, faults } = await openPage(`${url}playground?shape=clients`);
    const before = await summary(page);
    await page.getByLabel("Limit", { exact: true }).focus();
    for (let pressed = 0; pressed < 5; pressed++) await page.keyboard.press("ArrowLeft");
    await page.getByLabel("Window", { exact: true }).press("ArrowRight");
    await page.getByLabel("Time", { exact: true }).press("End");
    await page.waitForURL(/limit=5.*window=5m.*at=1000/);
    await expect.poll(() => summary(page)).not.toBe(before);
    expect(await reopened(page)).toBe(await summary(page));
    expect(faults).toEqual([]);
    await context.close();
  });

  it("takes traffic that is drawn by keyboard and by pointer", async () => {
    const { page, context, faults } = await openPage(`${url}playground?shape=drawn`);
    const bars = page.getByRole("group", { name: "Requests in each step" }).getByRole("slider");
    await bars.first().focus();
    await page.keyboard.press("PageUp");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowUp");
    await page.waitForURL(/bars=61/);
    await bars.nth(40).click({ position: { x: 1, y: 1 } });
    await expect.poll(() => bars.nth(40).getAttribute("aria-valuenow")).toBe("35");
    await page.waitForURL(/bars=.{40}z/);
    expect(await reopened(page)).toBe(await summary(page));
    expect(await findingsOf(page)).toEqual([]);
    expect(faults).toEqual([]);
    await context.close();
  });

  it("reads a log that is pasted, counts lines without a time, and shows them inert", async () => {
    const { page, context, faults } = await openPage(`${url}playground?shape=log`);
    const at = (second: number) => `203.0.113.7 - - [16/Nov/2026:12:00:${second} +0000] "GET /"`;
    const lines = Array.from({ length: 30 }, (_, i) => at(10 + i));
    await page
      .getByLabel("Lines of a log")
      .fill([...lines, "<img src=x onerror=alert(1)>"].join("\n"));
    await page.getByText("30 requests read. No time found in 1 line").waitFor();
    await page.waitForURL(/log=s\./);
    expect(await reopened(page)).toBe(await summary(page));
    expect(await page.locator("img").count()).toBe(0);
    expect(await findingsOf(page)).toEqual([]);
    expect(faults).toEqual([]);
    await context.close();
  });

  it("copies rules that the parser accepts, and code", async () => {
    const { page, context, faults } = await openPage(`${url}playground?limit=7&cost=2`, {
      permissions: ["clipboard-read", "clipboard-write"],
    });
    const bucket = cardOf(page, "Token bucket");
    // It says so for two seconds only: the wait starts first.
    const isCopied = bucket.getByRole("button", { name: "Copied" }).waitFor();
    await bucket.getByRole("button", { name: "Copy as rule" }).click();
    await isCopied;
    const rule = await page.evaluate("navigator.clipboard.readText()");
    expect(parseRules(String(rule)).rules.map(({ id }) => id)).toEqual(["token-bucket"]);
    await bucket.getByRole("button", { name: "Copy as code" }).click();
    await expect
      .poll(() => page.evaluate("navigator.clipboard.readText()"))
      .toContain("tokenBucket({ capacity: 10, refill: { amount: 7, everyMs: 60_000 } })");
    expect(faults).toEqual([]);
    await context.close();
  });

  it("plays, and with reduced motion goes in steps", async () => {
    const { page, context, faults } = await openPage(`${url}playground`, {
      reducedMotion: "reduce",
    });
    const time = page.getByLabel("Time", { exact: true });
    // Noted by the page itself: a test that asks now and then may miss a step.
    const steps = time.evaluate(
      (slider: HTMLInputElement) =>
        new Promise<string[]>((resolve) => {
          const seen: string[] = [];
          new MutationObserver(() => {
            seen.push(slider.value);
            if (seen.length === 3) resolve(seen);
          }).observe(slider, { attributeFilter: ["aria-valuetext"] });
        }),
    );
    await page.getByRole("button", { name: "Play" }).click();
    expect(await steps).toEqual(["0", "83", "167"]);
    await page.getByRole("button", { name: "Pause" }).click();
    await page.waitForURL(/at=\d+/);
    expect(faults).toEqual([]);
    await context.close();
  });
});

describe("the playground's replay report", () => {
  const report = {
    sluiceReplay: 1,
    rules: { file: "new.yaml" },
    against: { file: "old.yaml" },
    requests: { total: 1_000, refused: 40, refusedBefore: 10 },
    callers: { total: 30, refused: 2 },
    series: { requests: [500, 500], refused: [0, 40] },
    byRule: [
      {
        rule: "login",
        matched: 1_000,
        refused: 40,
        refusedBefore: 10,
        firstMs: 1_000,
        series: [0, 40],
      },
    ],
    byKey: [
      {
        rule: "login",
        key: "<img src=x onerror=alert(1)>\u202e",
        refused: 40,
        refusedBefore: 10,
        firstMs: 1_000,
        series: [0, 40],
      },
    ],
    notes: [
      { rule: "parallel", isLeftOut: true, isAgainst: false, why: "a log does not say it" },
      { rule: "former", isLeftOut: true, isAgainst: true, why: "a log does not say it" },
    ],
    remarks: [],
  };
  const fileOf = (text: string) => ({
    name: "report.json",
    mimeType: "application/json",
    buffer: Buffer.from(text),
  });

  it("shows a report that was opened, whatever its strings, and refuses other files", async () => {
    const { page, context, faults } = await openPage(`${url}playground`);
    const box = page.getByRole("region", { name: "Replay report" });
    const field = box.getByLabel("Open a report of an access log");
    await field.setInputFiles(fileOf(JSON.stringify(report)));
    await box.getByText("would have refused 40 of 1,000 requests (4%)").waitFor();
    expect(await box.getByRole("table").first().innerText()).toMatch(/login\s+1,000\s+40\s+10/);
    await box.getByText("<img src=x onerror=alert(1)>\\u{202E}").waitFor();
    await box.getByText("parallel was left out: a log does not say it").waitFor();
    await box.getByText("old.yaml: former was left out: a log does not say it").waitFor();
    expect(await findingsOf(page)).toEqual([]);
    await field.setInputFiles(fileOf("{}"));
    await box.getByRole("alert").getByText("This is not a report of sluice replay").waitFor();
    expect(await box.getByRole("table").count()).toBe(0);
    expect(faults).toEqual([]);
    await context.close();
  });
});

describe("a report that sluice replay wrote", () => {
  const folder = makeFolder("playground-report");
  const write = (name: string, text: string) => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  };
  const rulesOf = (limit: string) =>
    `version: 1\nrules: [{ id: login, key: user, limit: ${limit} }]\n`;

  it("is shown with its figures, and its keys with what clients wrote into them", async () => {
    const requests = Array.from({ length: 60 }, (_, at) => ({
      atMs: Date.UTC(2026, 10, 17, 12) + at * 1_000,
      ip: "203.0.113.7",
      method: "POST",
      path: "/login",
      status: 200,
      bodyBytes: 5,
      user: at % 6 === 0 ? "<img src=x onerror=alert(1)>\u202e\u001b[2J" : "ada",
    }));
    const log = write("log", requests.map((each) => toLogLine("caddy", each)).join("\n"));
    const text = execFileSync(process.execPath, [
      fileURLToPath(new URL("../../server/bin/sluice.js", import.meta.url)),
      ...["replay", log, "--json", "--rules", write("new.yaml", rulesOf("4/hour"))],
      ...["--against", write("old.yaml", rulesOf("8/hour"))],
    ]);
    const { page, context, faults } = await openPage(`${url}playground`);
    const box = page.getByRole("region", { name: "Replay report" });
    const file = { name: "report.json", mimeType: "application/json", buffer: text };
    await box.getByLabel("Open a report of an access log").setInputFiles(file);
    await box.getByText("would have refused 52 of 60 requests").waitFor();
    const [rules, keys] = [box.getByRole("table").first(), box.getByRole("table").last()];
    expect(await rules.innerText()).toMatch(/login\s+60\s+52\s+44/);
    expect(await keys.innerText()).toMatch(/user:ada\s+login\s+46\s+42/);
    expect(await keys.innerText()).toMatch(/user:<img%20src=.*>%E2%80%AE%1B\[2J\s+login\s+6\s+2/);
    expect(await page.locator("img").count()).toBe(0);
    expect(faults).toEqual([]);
    await context.close();
  });
});

describe("the playground as a site of its own", () => {
  it("works below any path of a static host, on a phone, without a service", async () => {
    const site = await startSite();
    const { page, context, faults } = await openPage(`${site}some/where/?shape=storm&limit=5`, {
      viewport: { width: 390, height: 844 },
      colorScheme: "dark",
    });
    await cardOf(page, "Fixed window").getByText("refused").first().waitFor();
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(390);
    expect(await findingsOf(page)).toEqual([]);
    expect(faults).toEqual([]);
    await context.close();
  });
});

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
};

/** Builds the site and serves it below /some/where/. */
async function startSite(): Promise<string> {
  const outDir = makeFolder("playground");
  const configFile = join(import.meta.dirname, "../vite.playground.config.ts");
  await build({ configFile, logLevel: "warn", build: { outDir, emptyOutDir: true } });
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://localhost");
    const path = pathname.replace("/some/where/", "") || "index.html";
    readFile(join(outDir, path)).then(
      (body) => {
        response.setHeader("content-type", TYPES[extname(path)] ?? "");
        response.end(body);
      },
      () => response.writeHead(404).end(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onStop(() => server.close());
  onStop(() => server.closeAllConnections());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}
