// Pages used by keyboard alone.

import type { Locator, Page } from "sluice-test-servers";

/** Keys that lead from anywhere on a page to anywhere else. */
const PRESSES_MAX = 60;

/** Presses a key until the focus is on this. */
export async function pressUntil(page: Page, target: Locator, key = "Tab"): Promise<void> {
  const passed: string[] = [];
  while (!(await target.evaluate((node) => node.matches(":focus")))) {
    if (passed.length === PRESSES_MAX)
      throw new Error(`${target} is not among ${passed.join(", ")}`);
    await page.keyboard.press(key);
    passed.push(await nameOfFocus(page));
  }
}

function nameOfFocus(page: Page): Promise<string> {
  return page.evaluate(() => {
    const { activeElement } = document;
    const [label] = (activeElement as HTMLInputElement | null)?.labels ?? [];
    return (label ?? activeElement)?.textContent?.trim().slice(0, 40) ?? "";
  });
}
