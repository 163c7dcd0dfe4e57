// What a new user sees: `npm start`, and then every page, each with something of the demo's own traffic on it.

import { onStop, type Page, startDemo, stopAll } from "sluice-test-servers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openPage, type WatchedPage } from "./dashboard-fixture.js";

const RULES = ["api", "api-planned", "everything", "exports", "login", "search"];

/** How long the demo's clients are waited for: the first shadow refusal comes after 30 requests within ten seconds. */
const TRAFFIC_MS_MAX = 60_000;

/** The client that does not slow down. */
const SCRAPER = "198.51.100.66";

let watched: WatchedPage;
let page: Page;
beforeAll(async () => {
  const demo = await startDemo();
  onStop(() => demo.stop());
  watched = await openPage(demo.dashboard);
  ({ page } = watched);
});
afterAll(stopAll);

/** Follows a link of the navigation. */
async function open(name: string): Promise<void> {
  await page.getByRole("navigation").getByRole("link", { name, exact: true }).click();
  await page.getByRole("heading", { level: 1, name, exact: true }).waitFor();
}

describe("the demo", () => {
  it("asks for no login, and is live: allowed, refused, delayed and shadow-refused requests", async () => {
    await page.getByRole("heading", { level: 1, name: "Live" }).waitFor();
    for (const name of ["Allowed", "Refused", "Delayed", "Shadow refused"]) {
      const figure = page.locator(".figure").filter({ hasText: name }).first();
      await expect
        .poll(() => figure.locator(".figure-note").textContent(), {
          message: name,
          timeout: TRAFFIC_MS_MAX,
        })
        .toMatch(/^peak [1-9]/);
    }
    const rules = page.getByRole("region", { name: "Rules in the last second" });
    for (const rule of RULES) await rules.getByRole("link", { name: rule, exact: true }).waitFor();
    const keys = page.getByRole("region", { name: "Busiest keys of the last seconds" });
    await keys
      .getByRole("link", { name: `ip:${SCRAPER}` })
      .first()
      .waitFor();
    const refusals = page.getByRole("table").filter({ hasText: "Why" });
    await refusals.getByText("over the limit of").first().waitFor();
  });

  it("has every rule in the list, with its rate", async () => {
    await open("Rules");
    for (const rule of RULES) await page.getByRole("link", { name: rule, exact: true }).waitFor();
    const everything = page.getByRole("row", { name: /^everything/ });
    for (const name of ["Allowed", "Refused"])
      await expect
        .poll(() => everything.locator(`td[data-name=${name}]`).textContent(), { message: name })
        .toMatch(/^(0\.\d+|[1-9].*)\/s$/);
  });

  it("shows how its misbehaving client stands", async () => {
    await open("Key");
    await page.getByLabel("Address", { exact: true }).fill(SCRAPER);
    await page.getByRole("button", { name: "Look up" }).click();
    await page
      .getByRole("region", { name: "everything" })
      .getByText(/\d+ of 20/)
      .waitFor();
    const history = page.getByRole("table").filter({ hasText: "Outcome" });
    await history
      .getByRole("row", { name: /refused GET \/products/ })
      .first()
      .waitFor();
  });

  it("has quotas in use, entries in the audit log, and customers", async () => {
    await open("Quotas");
    await page.getByRole("row", { name: /acme exports .*of 5,?000/ }).waitFor();
    await page.getByRole("link", { name: "globex" }).click();
    await page
      .getByRole("region", { name: "exports" })
      .getByRole("figure")
      .locator("canvas")
      .waitFor();
    await open("Audit");
    await page.getByText("set up by the demo").first().waitFor();
    await open("Access");
    for (const tenant of ["acme", "globex"])
      await page.getByRole("link", { name: tenant, exact: true }).waitFor();
  });

  it("has the playground, and nothing fails on any page", async () => {
    await open("Playground");
    await page
      .getByRole("region", { name: "Fixed window", exact: true })
      .getByText("twice the limit")
      .waitFor();
    expect(watched.faults).toEqual([]);
  });
});
