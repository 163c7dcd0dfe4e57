// Debian's Chromium for tests of pages, without a window. It talks to loopback only: a request to any other host fails
// inside the browser.

import { type Browser, chromium } from "playwright-core";
import { ensureProgram } from "./programs/find-program.js";

export type { Browser, BrowserContext, Locator, Page } from "playwright-core";

/**
 * Each window loads two pages for suggestions of the address bar, which no test sees: half of the processor time
 * that it takes to open a page.
 */
const UNSEEN = ["WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "WebUIOmniboxFullPopup"];

/** What Playwright disables itself (chromiumSwitches.ts). Of several lists the browser reads only the last, which is ours. */
const DISABLED_BY_PLAYWRIGHT = [
  "AvoidUnnecessaryBeforeUnloadCheckSync",
  "DestroyProfileOnBrowserClose",
  "HttpsUpgrades",
  "HttpsFirstBalancedModeAutoEnable",
  "LensOverlay",
  "MediaRouter",
  "PaintHolding",
  "ThirdPartyStoragePartitioning",
  "AvoidCorsURLLoaderRestartOnRedirect",
  "TcpPortRandomizationWin",
  "OptimizationHints",
  "NetworkTimeServiceQuerying",
  "AimEnabled",
  "PreconnectToSearch",
];

const ARGS = [
  `--disable-features=${[...DISABLED_BY_PLAYWRIGHT, ...UNSEEN].join(",")}`,
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-quic",
  "--disable-sync",
  "--no-first-run",
  // The sandbox needs a user that is not root, which test machines often lack. Only our own pages are opened.
  "--no-sandbox",
  "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
];

/** Starts a browser. Where Chromium is missing it is installed, or the error says how to get it. */
export function startBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: ensureProgram("chromium"), args: ARGS });
}
