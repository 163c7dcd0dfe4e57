import { join } from "node:path";
import { makeFolder, onStop, stopAll } from "sluice-test-servers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findingsEverywhere } from "./axe.js";
import { openPage, startDashboard, type TestDashboard } from "./dashboard-fixture.js";
import { untilCount } from "./page-state.js";

afterAll(stopAll);

let control: TestDashboard;
let edge: TestDashboard;
beforeAll(async () => {
  const folder = makeFolder("fleet");
  const snapshot = (node: string) => join(folder, `${node}.snapshot`);
  const database = `file:${join(folder, "sluice.db")}`;
  control = await startDashboard({
    config: { control: { database, node: "control-1", snapshot: snapshot("control-1") } },
  });
  const follow = new URL(control.url).origin;
  const token = "no-token-is-needed-here";
  edge = await startDashboard({
    config: { control: { follow, token, node: "edge-1", snapshot: snapshot("edge-1") } },
  });
  const timer = setInterval(() => {
    for (let i = 0; i < 3; i++) fetch(`${edge.gateway}/page`).catch(() => {});
    fetch(`${control.gateway}/page`).catch(() => {});
  }, 100);
  onStop(() => clearInterval(timer));
});

describe("the page Live of a control node with followers", () => {
  it("shows all nodes together, lets you pick one, and keeps the choice in the URL", async () => {
    const { page, faults } = await openPage(control.url);
    await page.getByText("on all 2 nodes together").waitFor();
    const nodes = page.getByRole("region", { name: "Nodes in the last second" });
    await expect
      .poll(() => nodes.getByRole("row", { name: /edge-1/ }).textContent())
      .toMatch(/[1-9].*reporting/);
    expect(await findingsEverywhere(page)).toEqual([]);
    await page.getByRole("combobox").selectOption("edge-1");
    await page.getByText("on the node edge-1").waitFor();
    await page.waitForURL(/\/dashboard\/\?node=edge-1$/);
    await page.getByText("Live", { exact: true }).nth(1).waitFor();
    await page.reload();
    await page.getByText("on the node edge-1").waitFor();
    await expect.poll(() => page.getByRole("combobox").inputValue()).toBe("edge-1");
    await page.goBack();
    await page.getByText("on all 2 nodes together").waitFor();
    await nodes.getByRole("link", { name: "control-1" }).click();
    await page.getByText("on the node control-1").waitFor();
    await page.getByRole("link", { name: "Rules", exact: true }).click();
    await page.getByText("rates over the last seconds on 2 nodes together").waitFor();
    expect(faults).toEqual([]);
  });

  it("shows the decisions and counters of a caller on all nodes, and previews by the requests of all", async () => {
    const { page, faults } = await openPage(`${control.url}key?ip=127.0.0.1`);
    await page.getByText("Decisions of all 2 nodes.").waitFor();
    const history = page.getByRole("table").filter({ hasText: "Outcome" });
    for (const node of ["control-1", "edge-1"])
      await history.getByRole("cell", { name: node, exact: true }).first().waitFor();
    const others = page.getByRole("region", { name: "On other nodes" });
    await others.getByText("The counters above are those of control-1.").waitFor();
    await others.getByText("Counters of all 2 nodes.").waitFor();
    const counter = others.getByRole("row").filter({ hasText: "everything" });
    await expect.poll(() => counter.textContent()).toMatch(/^edge-1everything\d+ of 20/);
    expect(await findingsEverywhere(page)).toEqual([]);
    await page.goto(`${control.url}rules/login`);
    await page.getByRole("button", { name: "Try as shadow" }).click();
    await page.getByRole("button", { name: "Create draft" }).click();
    // On a busy machine a node may not answer in time: the page says so, and asks again when it is loaded again.
    const covered = page.getByText(/^Requests of (all 2|1 of 2) nodes\./);
    await expect
      .poll(
        async () => {
          await covered.waitFor();
          const sentence = (await covered.textContent()) ?? "";
          if (!sentence.includes("all 2")) await page.reload();
          return sentence;
        },
        { timeout: 60_000 },
      )
      .toBe("Requests of all 2 nodes.");
    expect(faults).toEqual([]);
  });

  it("says plainly that a node is not known, and leads back", async () => {
    const { page } = await openPage(`${control.url}?node=edge-9`);
    await page.getByText('No node "edge-9" is connected here').waitFor();
    await page.getByRole("link", { name: "Show all nodes" }).click();
    await page.getByText("on all 2 nodes together").waitFor();
  });

  it("shows the node alone on the dashboard of a follower, and says where the others are", async () => {
    const { page, faults } = await openPage(edge.url);
    await page.getByText("These numbers cover the node edge-1 only.").waitFor();
    await untilCount(page.getByRole("combobox"), 0);
    await page.goto(`${edge.url}key?ip=127.0.0.1`);
    await page.getByText("Decisions of this node only.").waitFor();
    expect(faults).toEqual([]);
  });

  it("says that a node is silent, and shows no numbers instead of zeros", async () => {
    const { page, faults } = await openPage(`${control.url}?node=edge-1`);
    const allowed = page.locator(".figure.good .figure-value");
    await expect.poll(() => allowed.textContent()).toMatch(/^[1-9]/);
    await edge.service.close();
    await page.getByText(/^edge-1 has not reported for [\d.]+ seconds?/).waitFor();
    await page.getByText(/^silent for/).waitFor();
    await expect.poll(() => allowed.textContent()).toBe("–");
    expect(faults).toEqual([]);
  });
});
