// States of a page that tests wait for. A page answers an action later: what is read straight after it may be what was
// there before, or what is shown while an answer is on its way.

import type { Locator, Page } from "sluice-test-servers";
import { expect } from "vitest";

/** Waits until the page shows its heading and nothing loads any more. */
export async function untilSettled(page: Page): Promise<void> {
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.waitForFunction(() => document.querySelector("main [aria-busy=true]") === null);
}

/** Waits until there are so many of them. */
export function untilCount(found: Locator, count: number): Promise<void> {
  return expect.poll(() => found.count()).toBe(count);
}

/** Waits until the page has this path, such as `/dashboard/rules`. */
export function untilPath(page: Page, path: string): Promise<void> {
  return expect.poll(() => new URL(page.url()).pathname).toBe(path);
}

/** Waits until a parameter of the page's address has this value. */
export function untilParameter(page: Page, name: string, value: string): Promise<void> {
  return expect.poll(() => new URL(page.url()).searchParams.get(name)).toBe(value);
}

/** Waits until the page has been painted and the effects of what it shows have run. */
export async function untilPainted(page: Page): Promise<void> {
  await page.evaluate(
    () =>
      new Promise<void>((resolve) => {
        requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(resolve)));
      }),
  );
}
