// A whole service with its dashboard, and a browser in front of it. Whatever a page does wrong fails its test: an error
// in the console, an exception, a request to another origin.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { type Service, startService, toConfig } from "sluice-server";
import {
  type Browser,
  type BrowserContext,
  makeFolder,
  onStop,
  type Page,
  startBrowser,
} from "sluice-test-servers";

/** What a dashboard is tested with. */
export interface DashboardOptions {
  /** The rules, as a file has them. Default: five logins a minute and twenty requests in a burst, by address. */
  readonly rules?: object;
  /** Other parts of the configuration. */
  readonly config?: object;
  /** Whether a login is required: the service makes a first token. Default: programs on this machine are admins. */
  readonly needsLogin?: boolean;
}

/** A service and its dashboard. */
export interface TestDashboard {
  readonly service: Service;
  /** `http://127.0.0.1:40123/dashboard/`. */
  readonly url: string;
  /** The gateway, `http://127.0.0.1:40124`. */
  readonly gateway: string;
  /** The first access token; empty if no login is required. */
  readonly token: string;
}

/** A page, and what went wrong on it. */
export interface WatchedPage {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Errors in the console, exceptions, and requests to other origins; tests expect none. */
  readonly faults: string[];
}

export const RULES = {
  version: 1,
  rules: [
    { id: "login", match: { path: "/login", methods: "POST" }, key: "ip", limit: "5/minute" },
    { id: "everything", key: "ip", limit: { tokenBucket: { capacity: 20, refillPerSecond: 5 } } },
  ],
};

/** Starts a service with a control plane, a gateway and an upstream. `stopAll` ends it. */
export async function startDashboard(options: DashboardOptions = {}): Promise<TestDashboard> {
  const upstream = createServer((_, response) => response.end("ok\n"));
  await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
  onStop(() => upstream.closeAllConnections());
  onStop(() => upstream.close());
  const { port } = upstream.address() as AddressInfo;
  const folder = makeFolder("dashboard");
  const config = toConfig({
    gateway: { listen: "127.0.0.1:0" },
    admin: { listen: "127.0.0.1:0" },
    upstreams: { app: { backends: [`http://127.0.0.1:${port}`] } },
    routes: [{ path: "/*", upstream: "app" }],
    control: {
      database: `file:${join(folder, "sluice.db")}`,
      snapshot: join(folder, "sluice.snapshot"),
    },
    store: { kind: "memory", keysMax: 10_000 },
    rules: options.rules ?? RULES,
    telemetry: { logLevel: "silent" },
    ...options.config,
  });
  let token = "";
  const onFirstToken = (made: string) => {
    token = made;
  };
  const service = await startService(config, options.needsLogin === true ? { onFirstToken } : {});
  onStop(() => service.close());
  const urlOf = (name: string) => service.listeners.find((one) => one.name === name)?.url ?? "";
  return { service, url: `${urlOf("admin")}/dashboard/`, gateway: urlOf("gateway"), token };
}

let browser: Promise<Browser> | undefined;

/** The browser of all test files that run in this process. It ends with the process. */
export function sharedBrowser(): Promise<Browser> {
  browser ??= startBrowser();
  return browser;
}

/** How long a page is waited for: a busy machine is not a failure. */
const WAIT_MS_MAX = 60_000;

/** Opens a page in a context of its own: no cookie or choice of another test is there. `stopAll` closes it. */
export async function openPage(
  url: string,
  options: Parameters<Browser["newContext"]>[0] = {},
): Promise<WatchedPage> {
  const context = await (await sharedBrowser()).newContext(options);
  onStop(() => context.close());
  context.setDefaultTimeout(WAIT_MS_MAX);
  const page = await context.newPage();
  const faults: string[] = [];
  const { origin } = new URL(url);
  page.on("console", (message) => {
    if (message.type() === "error") faults.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => faults.push(`exception: ${error.message}`));
  page.on("request", (request) => {
    if (new URL(request.url()).origin !== origin) faults.push(`request to ${request.url()}`);
  });
  await page.goto(url);
  return { page, context, faults };
}
