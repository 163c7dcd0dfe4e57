// The challenge page in a real browser, in front of a real gateway: it is met, solved and left, under its own strict
// security policy. It works without a worker, in light and dark, and says what to do without JavaScript.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { type Browser, type BrowserContext, type Page, startBrowser } from "sluice-test-servers";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import type { ChallengeConfig } from "../src/config/config.js";
import { type GatewayFixture, startFixture } from "./gateway-fixture.js";

const CHALLENGE: ChallengeConfig = {
  secrets: ["a-secret-of-at-least-thirty-two-characters"],
  difficulty: 10,
  lifetimeMs: 120_000,
};
const ruleOf = (limit: number) => ({
  id: "site",
  limit: { fixedWindow: { limit, windowMs: 3_600_000, align: "first" } },
  onExceed: "challenge",
});
/** A busy machine is not a failure. */
const WAIT_MS_MAX = 60_000;
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let browser: Promise<Browser> | undefined;
const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});
afterAll(async () => (await browser)?.close());

async function gateway(challenge = CHALLENGE, limit = 1): Promise<GatewayFixture> {
  const fixture = await startFixture({
    rules: [ruleOf(limit)],
    config: { challenge },
    answer: ({ method, url }, response) => {
      response.setHeader("content-type", "text/html");
      const form = '<form method="post"><button>Send</button></form>';
      response.end(`<title>Inside</title><h1>${method} ${url.split("?")[0]}</h1>${form}`);
    },
  });
  closing.push(() => fixture.close());
  return fixture;
}

/** A page that reports what it did wrong. */
async function openPage(options: Parameters<Browser["newContext"]>[0] = {}): Promise<{
  readonly page: Page;
  readonly context: BrowserContext;
  readonly faults: string[];
}> {
  browser ??= startBrowser();
  const context = await (await browser).newContext(options);
  closing.push(() => context.close());
  context.setDefaultTimeout(WAIT_MS_MAX);
  const page = await context.newPage();
  const faults: string[] = [];
  page.on("console", (message) => {
    // The page itself is a response with status 429, and so a line in the console.
    if (message.type() === "error" && !message.text().includes("429")) faults.push(message.text());
  });
  page.on("pageerror", (error) => faults.push(error.message));
  return { page, context, faults };
}

/** Uses up the limit of this machine's address. */
async function exhaust({ url }: GatewayFixture): Promise<void> {
  await (await fetch(url)).text();
}

describe("the challenge page", () => {
  it("is met, solves itself, and the browser is where it wanted to be", async () => {
    const fixture = await gateway();
    await exhaust(fixture);
    const { page, context, faults } = await openPage();
    const first = await page.goto(`${fixture.url}/wanted?q=1`);
    expect(first?.status()).toBe(429);
    await page.getByRole("heading", { name: "GET /wanted" }).waitFor();
    expect(page.url()).toBe(`${fixture.url}/wanted?q=1`);
    expect(faults).toEqual([]);
    const [cookie] = await context.cookies();
    expect(cookie).toMatchObject({
      name: "sluice-pass",
      httpOnly: true,
      secure: false,
      sameSite: "Lax",
      path: "/",
    });
    expect(
      await page.evaluate(
        () => (globalThis as unknown as { document: { cookie: string } }).document.cookie,
      ),
    ).toBe("");
    expect(fixture.upstream.seen.map(({ url }) => url)).toEqual(["/", "/wanted?q=1"]);
  });

  it("solves without a worker too, where a browser has none", async () => {
    const fixture = await gateway();
    await exhaust(fixture);
    const { page, faults } = await openPage();
    await page.addInitScript("delete globalThis.Worker");
    await page.goto(fixture.url);
    await page.getByRole("heading", { name: "GET /" }).waitFor();
    expect(faults).toEqual([]);
  });

  it("asks to send a form again, since only the person can", async () => {
    // One for the form and one for what it sends, also after the browser has gone back.
    const fixture = await gateway(CHALLENGE, 2);
    await exhaust(fixture);
    const { page } = await openPage();
    await page.goto(`${fixture.url}/form`);
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("Done. Go back and send the form again.").waitFor();
    await page.getByRole("button", { name: "Go back" }).click();
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByRole("heading", { name: "POST /form" }).waitFor();
  });

  it("stops after three attempts where cookies are not kept, instead of loading for ever", async () => {
    const fixture = await gateway({ ...CHALLENGE, difficulty: 2 });
    await exhaust(fixture);
    const { page, context } = await openPage();
    page.on("response", () => void context.clearCookies());
    await page.route("**/*", async (route) => {
      const headers = { ...route.request().headers() };
      delete headers.cookie;
      await route.continue({ headers });
    });
    await context.addInitScript(
      "Object.defineProperty(document, 'cookie', { get: () => '', set: () => {} })",
    );
    await page.goto(fixture.url).catch(() => undefined);
    await page.getByText("Your browser may not keep cookies").waitFor();
    expect(fixture.upstream.seen.length).toBe(1);
  });

  it.each(["light", "dark"] as const)(
    "has nothing that axe-core finds, in %s",
    async (colorScheme) => {
      const fixture = await gateway({ ...CHALLENGE, difficulty: 28 });
      await exhaust(fixture);
      const { page, faults } = await openPage({ colorScheme });
      await page.goto(fixture.url);
      await page.getByRole("status").filter({ hasText: "Solving" }).waitFor();
      await page.evaluate(AXE);
      const found = await page.evaluate("axe.run().then((r) => r.violations.map((v) => v.id))");
      expect(found).toEqual([]);
      const colour = await page.evaluate("getComputedStyle(document.body).backgroundColor");
      expect(colour).toBe(colorScheme === "dark" ? "rgb(20, 24, 31)" : "rgb(246, 247, 249)");
      expect(faults).toEqual([]);
    },
  );

  it("says how long to wait where there is no JavaScript", async () => {
    const fixture = await gateway();
    await exhaust(fixture);
    const { page } = await openPage({ javaScriptEnabled: false });
    await page.goto(fixture.url);
    await page
      .getByText(
        /needs JavaScript to continue\. Without it, try again in (1 hour|59 minutes( \d+ seconds?)?)\./,
      )
      .waitFor();
  });
});
