// What holds on every page: no serious or critical finding of axe-core in light and dark, nothing wider than a phone, no
// fault, and everything reachable by keyboard alone.

import { type Page, stopAll } from "sluice-test-servers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findingsOf } from "./axe.js";
import { openPage, startDashboard, type TestDashboard } from "./dashboard-fixture.js";

const PATHS = [
  "",
  "rules",
  "rules/login",
  "rules/edit",
  "rules/history",
  "rules/history/1",
  "key",
  "quotas",
  "audit",
  "access",
  "playground",
];
const PHONE = { width: 390, height: 844 };

let dashboard: TestDashboard;
beforeAll(async () => {
  dashboard = await startDashboard();
  for (let i = 0; i < 30; i++) await fetch(`${dashboard.gateway}/x`);
});
afterAll(stopAll);

describe("every page", () => {
  it.each(PATHS)("/dashboard/%s fits light, dark and a phone, without a fault", async (path) => {
    const { page, context, faults } = await openPage(dashboard.url + path);
    await settle(page);
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await findingsOf(page), colorScheme).toEqual([]);
    }
    await page.setViewportSize(PHONE);
    expect(await widthOf(page)).toBeLessThanOrEqual(PHONE.width);
    expect(faults).toEqual([]);
    await context.close();
  });

  it.each(["", "rules/login"])(
    "/dashboard/%s fits a phone before its charts are redrawn",
    async (path) => {
      const { page, context } = await openPage("about:blank");
      await page.addInitScript(() => {
        // After the window has been made narrow, the page is painted before its resize observers run.
        window.ResizeObserver = class {
          observe(): void {}
          unobserve(): void {}
          disconnect(): void {}
        };
      });
      await page.goto(dashboard.url + path);
      await settle(page);
      await page.setViewportSize(PHONE);
      expect(await widthOf(page)).toBeLessThanOrEqual(PHONE.width);
      await context.close();
    },
  );
});

describe("by keyboard alone", () => {
  it("leads from the first Tab to the content, and to every page", async () => {
    const { page, context, faults } = await openPage(dashboard.url);
    await page.getByRole("heading", { level: 1, name: "Live" }).waitFor();
    await page.keyboard.press("Tab");
    expect(await focused(page)).toContain("Skip to the content");
    for (let tabs = 0; tabs < 20 && !(await focused(page)).includes("Rules"); tabs++)
      await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Rules" }).waitFor();
    expect(faults).toEqual([]);
    await context.close();
  });
});

/** Waits until the page shows its heading and nothing loads any more. */
async function settle(page: Page): Promise<void> {
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.waitForFunction(() => document.querySelector("main [aria-busy=true]") === null);
}

function widthOf(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth);
}

function focused(page: Page): Promise<string> {
  return page.evaluate(() => document.activeElement?.textContent ?? "");
}
