// The page that a browser shows while it solves a challenge. It is complete in itself: nothing of the request is in it
// but whether it was a GET, and its security policy lets only its own script and style run.

import { createHash } from "node:crypto";
import { formatDuration } from "../../../base/durations.js";
import type { HeaderFields } from "../../response/response-headers.js";
import type { Retry } from "../../response/retry-after.js";
import type { ChallengeWidget } from "../challenge-options.js";
import type { Task } from "../challenge-token.js";
import { PAGE_SCRIPT } from "./page-script.js";
import { PAGE_STYLE } from "./page-style.js";

/** What a page is made of. */
export interface PageContent {
  readonly token: string;
  readonly task: Task;
  /** Of the request that was refused. */
  readonly method: string;
  readonly retry: Retry;
  /** Of the provider; undefined for proof of work. */
  readonly widget: ChallengeWidget | undefined;
}

/** Headers that every page has, besides its policy. */
export const PAGE_HEADERS: HeaderFields = [
  "Referrer-Policy",
  "no-referrer",
  "X-Content-Type-Options",
  "nosniff",
  "X-Frame-Options",
  "DENY",
  "X-Robots-Tag",
  "noindex",
];

const SCRIPT_HASH = toHash(PAGE_SCRIPT);
const STYLE_HASH = toHash(PAGE_STYLE);

/** `Content-Security-Policy`, and what it says. */
export function toPagePolicy(widget: ChallengeWidget | undefined): HeaderFields {
  const own = [
    "default-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ];
  if (widget === undefined) {
    const rest = `connect-src 'self'; worker-src blob:; script-src ${SCRIPT_HASH}; style-src ${STYLE_HASH}`;
    return ["Content-Security-Policy", `${own.join("; ")}; ${rest}`];
  }
  const { scriptUrl, origins = [] } = widget;
  const others = [...new Set([new URL(scriptUrl).origin, ...origins])].join(" ");
  const rest = [
    `connect-src 'self' ${others}`,
    `frame-src ${others}`,
    `img-src ${others}`,
    `script-src ${SCRIPT_HASH} ${others}`,
    `style-src ${STYLE_HASH} ${others}`,
  ];
  return ["Content-Security-Policy", `${own.join("; ")}; ${rest.join("; ")}`];
}

/** The page. Its token has only letters, digits, `-`, `_` and `.`, and a widget nothing that HTML would read. */
export function toChallengePage({ token, task, method, retry, widget }: PageContent): string {
  const bits = task.kind === "work" ? ` data-bits="${task.bits}"` : "";
  const isRepeatable = method === "GET" || method === "HEAD";
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>One moment</title>
<style>${PAGE_STYLE}</style>
</head>
<body>
<main data-challenge="${token}"${bits} data-repeat="${isRepeatable}">
<h1>One moment</h1>
<p>Too many requests came from you or from your network. ${widget === undefined ? SOLVING : ASKING}</p>
${widget === undefined ? PROGRESS : toWidget(widget)}
<p id="status" role="status" aria-live="polite"></p>
<p><button id="again" type="button" hidden>Try again</button></p>
<noscript><p>This page needs JavaScript to continue. ${sayWait(retry)}</p></noscript>
</main>
<script>${PAGE_SCRIPT}</script>
${widget === undefined ? "" : `<script src="${widget.scriptUrl}" async defer></script>\n`}</body>
</html>
`;
}

const SOLVING = "Your browser is solving a short puzzle, which takes a few seconds.";
const ASKING = "Please confirm that you are human.";
const PROGRESS = `<progress id="progress" aria-label="Solving"></progress>`;

function toWidget({ className, siteKey }: ChallengeWidget): string {
  return `<div class="${className}" data-sitekey="${siteKey}" data-callback="sluiceSolved"></div>`;
}

function sayWait({ seconds }: Retry): string {
  if (seconds === undefined) return "Without it, try again later.";
  return `Without it, try again in ${formatDuration(seconds * 1_000)}.`;
}

/** As a security policy names a script or style that stands in the page. */
function toHash(text: string): string {
  return `'sha256-${createHash("sha256").update(text, "utf8").digest("base64")}'`;
}
