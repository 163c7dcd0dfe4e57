// Strings that callers choose to do harm, and whether one has done any to a page.

import type { Page } from "sluice-test-servers";

/** Markup, a mark that turns the direction of what follows, 4 KiB without a space, emoji with a line break. */
export const HOSTILE: readonly string[] = [
  "<script>alert(1)</script>",
  "a\u202Egnp.exe",
  "k".repeat(4_096),
  "😀\n<img src=x onerror=alert(1)>",
];

/** Where there is least room for what is long. */
export const ON_PHONE = { viewport: { width: 390, height: 844 } };

/** What a page looks like that took no harm. */
export const INERT = { markup: 0, unseen: false, width: 0 };

/** What strings have done to the page: elements, unseen characters, pixels beyond its width. */
export function harmOf(page: Page): Promise<typeof INERT> {
  return page.evaluate(() => ({
    markup: document.querySelectorAll("main script, main img").length,
    unseen: document.body.innerText.includes("\u202e") || document.title.includes("\u202e"),
    width: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  }));
}

/** Sends a request with a JSON body, and returns the answer. @throws Error if it is refused. */
export async function send(
  method: string,
  url: URL | string,
  body: object,
  token = "",
): Promise<unknown> {
  const headers = {
    "content-type": "application/json",
    ...(token === "" ? {} : { authorization: `Bearer ${token}` }),
  };
  const response = await fetch(url, { method, headers, body: JSON.stringify(body) });
  const answer = await response.text();
  if (!response.ok) throw new Error(`${method} ${url}: ${response.status} ${answer}`);
  return JSON.parse(answer);
}
