// What axe-core finds wrong on a page.

import axe from "axe-core";
import type { Page } from "sluice-test-servers";

/** `color-contrast: .lead`, for each serious or critical finding. */
export async function findingsOf(page: Page): Promise<string[]> {
  // Through the debugger: the page's own policy allows no script from here.
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() =>
    (globalThis as unknown as { axe: typeof axe }).axe.run(),
  );
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target.join(" ")}`));
}
