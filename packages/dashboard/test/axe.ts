// What axe-core finds wrong on a page.

import axe from "axe-core";
import type { Page } from "sluice-test-servers";

/** Without a description of what passes: that takes longer than finding what fails. */
const VIOLATIONS: axe.RunOptions = { resultTypes: ["violations"] };

/**
 * `color-contrast: .lead`, for each serious or critical finding.
 *
 * @param of - `colours`: only what light and dark can differ in. Default: everything.
 */
export async function findingsOf(page: Page, of?: "colours"): Promise<string[]> {
  // Through the debugger: the page's own policy allows no script from here.
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axe.source);
  const { violations } = await page.evaluate(
    (options) => (globalThis as unknown as { axe: typeof axe }).axe.run(options),
    of === "colours" ? { ...VIOLATIONS, runOnly: ["color-contrast"] } : VIOLATIONS,
  );
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target.join(" ")}`));
}

/** The colours in both, and all else in one of them: every-page.test.ts looks for everything in both. */
const SCHEMES = [
  ["dark", "colours"],
  ["light", undefined],
] as const;

const PHONE = { width: 390, height: 844 };

/** The same in light and dark, and whether the page is wider than a phone. The page has its size back afterwards. */
export async function findingsEverywhere(page: Page): Promise<string[]> {
  const findings: string[] = [];
  for (const [colorScheme, of] of SCHEMES) {
    await page.emulateMedia({ colorScheme });
    for (const finding of await findingsOf(page, of)) findings.push(`${colorScheme}: ${finding}`);
  }
  const size = page.viewportSize() ?? PHONE;
  await page.setViewportSize(PHONE);
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  if (width > PHONE.width) findings.push(`${width} px wide on a phone of ${PHONE.width} px`);
  await page.setViewportSize(size);
  return findings;
}
