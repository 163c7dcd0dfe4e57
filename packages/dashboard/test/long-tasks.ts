// How long a page was held up: tasks of the browser that take over 50 ms, which it reports itself.

import type { Page } from "sluice-test-servers";

/** From now on collects how long tasks of the page take. */
export async function watchTasks(page: Page): Promise<void> {
  await page.evaluate(`
    globalThis.longTasksMs = [];
    new PerformanceObserver((list) => {
      longTasksMs.push(...list.getEntries().map(({ duration }) => duration));
    }).observe({ entryTypes: ["longtask"] });
  `);
}

/** The longest task since `watchTasks`; 0 if none took over 50 ms. */
export function longestTaskMs(page: Page): Promise<number> {
  return page.evaluate("Math.max(0, ...longTasksMs)");
}
