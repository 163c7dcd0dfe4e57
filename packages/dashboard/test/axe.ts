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

const PHONE = { width: 390, height: 844 };

/** The same in light and dark, and whether the page is wider than a phone. The page has its size back afterwards. */
export async function findingsEverywhere(page: Page): Promise<string[]> {
  const findings: string[] = [];
  for (const colorScheme of ["dark", "light"] as const) {
    await page.emulateMedia({ colorScheme });
    for (const finding of await findingsOf(page)) findings.push(`${colorScheme}: ${finding}`);
  }
  const size = page.viewportSize() ?? PHONE;
  await page.setViewportSize(PHONE);
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  if (width > PHONE.width) findings.push(`${width} px wide on a phone of ${PHONE.width} px`);
  await page.setViewportSize(size);
  return findings;
}
