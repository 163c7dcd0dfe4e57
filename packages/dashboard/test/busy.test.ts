// The page Live stays responsive while the service makes ten thousand decisions a second.

import { onStop, type Page, stopAll } from "sluice-test-servers";
import { afterAll, expect, it } from "vitest";
import { openPage, startDashboard, type TestDashboard } from "./dashboard-fixture.js";
import { longestTaskMs } from "./long-tasks.js";

afterAll(stopAll);

const TASK_MS_MAX = 200;
const DECISIONS_PER_SECOND = 10_000;
/** Others are decided while the machine is busy with something else, and count as less. */
const SHOWN_MIN = 7_000;
const WATCHED_MS = 4_000;
const TURN_MS = 10;
const RULES_COUNT = 60;
const RULES = {
  version: 1,
  rules: Array.from({ length: RULES_COUNT }, (_, n) => ({
    id: `rule-${n}`,
    match: { path: `/${n}/*` },
    key: "ip",
    limit: "2/minute",
  })),
};

it("no task of the page Live takes 200 ms with 10,000 decisions a second", async () => {
  const dashboard = await startDashboard({ rules: RULES });
  decideAlways(dashboard);
  const { page, faults } = await openPage(dashboard.url);
  const isBusy = () =>
    expect.poll(() => shownRate(page), { timeout: 15_000 }).toBeGreaterThan(SHOWN_MIN);
  await isBusy();
  const longestMs = await longestTaskMs(async () => {
    await page.waitForTimeout(WATCHED_MS);
    await isBusy();
    await page.getByText("over the limit of").first().waitFor();
  });
  expect(longestMs).toBeLessThan(TASK_MS_MAX);
  expect(faults).toEqual([]);
});

/** What a listener does for each request, without the network. */
function decideAlways({ service: { core } }: TestDashboard): void {
  const { policy, telemetry } = core;
  const startMs = performance.now();
  let decided = 0;
  const decideDue = async () => {
    const due = ((performance.now() - startMs) / 1_000) * DECISIONS_PER_SECOND;
    for (; decided < due; decided++) {
      const ip = `192.0.2.${(decided * 31) % 251}`;
      const facts = { method: "GET", path: `/${decided % RULES_COUNT}/page`, ip };
      telemetry.decided("gateway", await policy.admit(facts), facts, 0.02);
    }
    timer = setTimeout(decideDue, TURN_MS);
  };
  let timer = setTimeout(decideDue, TURN_MS);
  onStop(() => clearTimeout(timer));
}

/** Allowed and refused requests of the last second, as the page says them: `9.81K/s`. */
async function shownRate(page: Page): Promise<number> {
  const figures = page.locator(".figure.good, .figure.bad").locator(".figure-value");
  const rates = await figures.allTextContents();
  return rates.reduce((sum, rate) => {
    const [, digits = "0", unit] = /^([\d.]+)(K?)/.exec(rate) ?? [];
    return sum + Number(digits) * (unit === "K" ? 1_000 : 1);
  }, 0);
}
