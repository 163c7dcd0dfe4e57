// The report of a replay as one page of HTML: no scripts, nothing from elsewhere, and a Content-Security-Policy that says
// so. All strings of the log are escaped.

import { createHash } from "node:crypto";
import { formatDuration } from "sluice/shapes";
import type { ReplayReport, ReportedKey, ReportedRule } from "../replay-report.js";
import { html, Markup } from "./markup.js";
import { plot, plotWithAxes } from "./plots.js";
import { REPORT_STYLE } from "./report-style.js";

/** The page. */
export function toHtmlPage(report: ReplayReport): string {
  const digest = createHash("sha256").update(REPORT_STYLE).digest("base64");
  const policy = `default-src 'none'; style-src 'sha256-${digest}'; base-uri 'none'; form-action 'none'`;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Replay of ${report.rules.file}</title>
<style>${new Markup(REPORT_STYLE)}</style>
</head>
<body>
<main>
<h1>Replay of ${report.rules.file}${report.against === null ? "" : ` against ${report.against.file}`}</h1>
${toLead(report)}
${toOverview(report)}
${toRuleTable(report)}
${toKeyTable(report)}
${toNotes(report)}
${toLog(report)}
</main>
</body>
</html>
`.text;
}

function toLead({ requests, callers, fromMs, toMs, against }: ReplayReport): Markup {
  if (fromMs === null || toMs === null) return html`<p class="lead">The log has no requests.</p>`;
  const share = percent(requests.refused, requests.total);
  return html`<p class="lead">${count(requests.refused)} of ${count(requests.total)} requests (${share}) and
${about(callers)}${count(callers.refused)} of ${countCallers(callers.total)} would have been refused${
    against === null
      ? ""
      : html`; by ${against.file} it is ${count(requests.refusedBefore ?? 0)} requests of ${about(callers)}${countCallers(callers.refusedBefore ?? 0)}`
  }.</p>
<p>${time(fromMs)} to ${time(toMs)}, ${formatDuration(Math.max(1_000, toMs - fromMs))}.${
    against !== null &&
    html` ${count(requests.newlyRefused)} requests are newly refused, ${count(requests.newlyAllowed)} newly allowed.`
  }${requests.delayed > 0 && html` ${count(requests.delayed)} requests would have had to wait.`}</p>`;
}

function toOverview({ series, against, fromMs }: ReplayReport): Markup {
  const { requests, refused, refusedBefore, stepMs } = series;
  const drawing = plot("Requests and refusals over time", [
    { name: "requests", colour: "all", counts: requests },
    ...(refusedBefore === null
      ? []
      : [{ name: "before", colour: "before" as const, counts: refusedBefore }]),
    { name: "refused", colour: "refused", counts: refused },
  ]);
  return html`<section><h2>Over time</h2>
${plotWithAxes(drawing, {
  times:
    fromMs === null ? [] : TIMES.map((share) => time(fromMs + share * requests.length * stepMs)),
  most: `${perSecond(Math.max(0, ...requests), stepMs)} requests a second`,
})}
<p class="key"><i class="all"></i> requests in ${formatDuration(stepMs)} <i class="refused"></i> refused${
    against !== null && html` <i class="before"></i> refused by ${against.file}`
  }</p></section>`;
}

function toRuleTable({ byRule, against }: ReplayReport): Markup {
  if (byRule.length === 0) return html``;
  const isCompared = against !== null;
  const hasShadow = byRule.some(({ shadowRefused }) => shadowRefused > 0);
  return html`<section><h2>By rule</h2><div class="wide"><table><thead><tr><th>rule</th><th>counted</th><th>refused</th>${
    isCompared && html`<th>before</th><th>newly refused</th><th>newly allowed</th>`
  }${hasShadow && html`<th>if enforced</th>`}<th>keys</th><th>when</th><th>over time</th></tr></thead><tbody>
${byRule.map((rule) => toRuleRow(rule, { isCompared, hasShadow }))}</tbody></table></div></section>`;
}

function toRuleRow(
  rule: ReportedRule,
  { isCompared, hasShadow }: { readonly isCompared: boolean; readonly hasShadow: boolean },
): Markup {
  return html`<tr><td>${rule.rule ?? "without a rule"}</td><td>${count(rule.matched)}</td><td>${count(rule.refused)}</td>${
    isCompared &&
    html`<td>${count(rule.refusedBefore ?? 0)}</td><td>${count(rule.newlyRefused)}</td><td>${count(rule.newlyAllowed)}</td>`
  }${hasShadow && html`<td>${rule.shadowRefused === 0 ? "" : count(rule.shadowRefused)}</td>`}<td>${rule.areKeysExact ? "" : "about "}${count(rule.keysRefused)}</td><td>${span(
    rule.firstMs,
    rule.lastMs,
  )}</td><td class="spark">${plot(
    `Refusals of ${rule.rule ?? "requests"} over time`,
    [
      ...(rule.seriesBefore === null
        ? []
        : [{ name: "before", colour: "before" as const, counts: rule.seriesBefore }]),
      { name: "refused", colour: "refused", counts: rule.series },
    ],
    80,
  )}</td></tr>
`;
}

function toKeyTable({ byKey, keysLeftOut, against, areKeysExact }: ReplayReport): Markup {
  if (byKey.length === 0) return html``;
  const isCompared = against !== null;
  return html`<section><h2>By key</h2><div class="wide"><table><thead><tr><th>key</th><th>rule</th><th>refused</th>${
    isCompared && html`<th>before</th>`
  }<th>when</th><th>over time</th></tr></thead><tbody>
${byKey.map((key) => toKeyRow(key, isCompared))}</tbody></table></div>
${keysLeftOut > 0 && html`<p>${count(keysLeftOut)} more keys are not listed.</p>`}
${!areKeysExact && html`<p>Only the keys with most refusals were counted, and their counts are lower bounds.</p>`}</section>`;
}

function toKeyRow(key: ReportedKey, isCompared: boolean): Markup {
  return html`<tr><td><code>${key.key ?? "–"}</code></td><td>${key.rule ?? "–"}</td><td>${count(key.refused)}</td>${
    isCompared && html`<td>${count(key.refusedBefore ?? 0)}</td>`
  }<td>${span(key.firstMs, key.lastMs)}</td><td class="spark">${plot(
    `Refusals of ${key.key ?? "requests"} over time`,
    [{ name: "refused", colour: "refused", counts: key.series }],
    80,
  )}</td></tr>
`;
}

function toNotes({ notes, remarks, against }: ReplayReport): Markup {
  if (notes.length + remarks.length === 0) return html``;
  return html`<section><h2>What this does not show</h2><ul>${notes.map(
    ({ rule, why, isLeftOut, isAgainst }) =>
      html`<li>${isAgainst && against !== null && `${against.file}: `}<b>${rule}</b>${isLeftOut && " was left out"}: ${why}.</li>`,
  )}${remarks.map((remark) => html`<li>${remark}.</li>`)}</ul></section>`;
}

function toLog({ log }: ReplayReport): Markup {
  return html`<section><h2>The log</h2><ul>${log.files.map(
    ({ name, format, lines, malformed, problem }) =>
      html`<li>${name}: ${format}, ${count(lines)} lines, ${count(malformed)} malformed${problem !== null && `, ${problem}`}</li>`,
  )}</ul>${
    log.malformedLines.length > 0 &&
    html`<h3>The first malformed lines</h3><ul>${log.malformedLines.map(
      ({ file, line, why, text }) =>
        html`<li>${file}:${line}: ${why}${text !== "" && html` <code>${text}</code>`}</li>`,
    )}</ul>`
  }</section>`;
}

/** Where the axis of time has labels, as shares of its length. */
const TIMES = [0, 0.5, 1];

/** Counts of a step as a rate, with as many digits as it needs. */
function perSecond(most: number, stepMs: number): string {
  const rate = (most * 1_000) / stepMs;
  return rate >= 100 ? count(Math.round(rate)) : String(Number(rate.toPrecision(2)));
}

function about({ areExact }: ReplayReport["callers"]): string {
  return areExact ? "" : "about ";
}

function span(firstMs: number | null, lastMs: number | null): string {
  if (firstMs === null || lastMs === null) return "";
  return firstMs === lastMs ? time(firstMs) : `${time(firstMs)} to ${time(lastMs)}`;
}

function time(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

function count(value: number): string {
  return value.toLocaleString("en-GB");
}

function countCallers(value: number): string {
  return `${count(value)} ${value === 1 ? "caller" : "callers"}`;
}

function percent(part: number, whole: number): string {
  return `${Number(((100 * part) / Math.max(1, whole)).toPrecision(3))}%`;
}
