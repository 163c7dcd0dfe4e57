// What holds on every page: no serious or critical finding of axe-core in light and dark, nothing wider than a phone, no
// fault, and everything reachable by keyboard alone.

import { type Page, stopAll } from "sluice-test-servers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findingsOf, SCHEMES } from "./axe.js";
import { openPage, startDashboard, type TestDashboard } from "./dashboard-fixture.js";
import { untilSettled } from "./page-state.js";

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
    await untilSettled(page);
    for (const [colorScheme, of] of SCHEMES) {
      await page.emulateMedia({ colorScheme });
      expect(await findingsOf(page, of), colorScheme).toEqual([]);
    }
    // Not before the first second of the stream has come.
    if (path === "") await page.getByText("answers").waitFor();
    expect(await shiftsOf(page)).toBeLessThan(0.1);
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
      await untilSettled(page);
      await page.setViewportSize(PHONE);
      expect(await widthOf(page)).toBeLessThanOrEqual(PHONE.width);
      await context.close();
    },
  );
});

describe("by keyboard alone", () => {
  it("leads from the first Tab to the content, to every page, and to the block of a key", async () => {
    const { page, context, faults } = await openPage(dashboard.url);
    await page.getByRole("heading", { level: 1, name: "Live" }).waitFor();
    await page.keyboard.press("Tab");
    await expect.poll(() => focused(page)).toBe("Skip to the content");
    const open = async (name: string, key: string) => {
      await pressUntil(page, name, key);
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { level: 1, name }).waitFor();
    };
    for (const name of ["Rules", "Key", "Quotas", "Audit", "Access", "Playground"])
      await open(name, "Tab");
    await open("Key", "Shift+Tab");
    await pressUntil(page, "Address");
    await page.keyboard.type("127.0.0.1");
    await page.keyboard.press("Enter");
    await page.getByText(/would be (allowed|refused) now/).waitFor();
    await pressUntil(page, "Block");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    await pressUntil(page, "Reason");
    await page.keyboard.type("it scrapes");
    await page.keyboard.press("Enter");
    await page.getByText("Its key is blocked under rule everything").waitFor();
    expect((await fetch(dashboard.gateway)).status).toBe(429);
    expect(faults).toEqual([]);
    await context.close();
  });
});

/** Presses a key until the focus is on what has this name. */
async function pressUntil(page: Page, name: string, key = "Tab"): Promise<void> {
  const passed: string[] = [];
  while ((await focused(page)) !== name) {
    passed.push((await focused(page)).slice(0, 40));
    if (passed.length > 60) throw new Error(`${name} is not among ${passed.join(", ")}`);
    await page.keyboard.press(key);
  }
}

function widthOf(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth);
}

/** The name of what has the focus: of a field its label, of all else its text. */
function focused(page: Page): Promise<string> {
  return page.evaluate(() => {
    const { activeElement } = document;
    const [label] = (activeElement as HTMLInputElement | null)?.labels ?? [];
    return (label ?? activeElement)?.textContent?.trim() ?? "";
  });
}

/** How much moved on the page since it was opened, though the user did nothing: 0.1 is the bound of a good page. */
function shiftsOf(page: Page): Promise<number> {
  return page.evaluate(() => {
    const observer = new PerformanceObserver(() => {});
    observer.observe({ type: "layout-shift", buffered: true });
    const shifts = observer.takeRecords() as unknown as LayoutShift[];
    observer.disconnect();
    return shifts
      .filter(({ hadRecentInput }) => !hadRecentInput)
      .reduce((sum, { value }) => sum + value, 0);
  });
}

interface LayoutShift {
  readonly value: number;
  readonly hadRecentInput: boolean;
}
