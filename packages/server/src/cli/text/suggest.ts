// The distribution of demand as a small plot: how many requests callers made in each window, on a scale of powers of ten.

import { formatDuration } from "sluice/shapes";
import type { Suggested } from "../../core/suggest/suggest-limits.js";
import type { Suggestion, WindowSuggestion } from "../../core/suggest/suggestion.js";
import { percent } from "../../core/suggest/suggestion-yaml.js";
import { safe } from "./colours.js";
import { bar } from "./plot.js";
import { sayMalformed } from "./replay.js";
import { count } from "./rules.js";
import { formatTable } from "./table.js";

const BAR_WIDTH_MAX = 40;
const LABELS_WIDTH = 34;

/** A share is said in tenths of a percent. */
const SHARE_STEPS = 1_000;

/** The lines of the plot. */
export function formatDemand(suggested: Suggested, columns: number): string[] {
  const { suggestion, counted, uncounted, fromMs, toMs } = suggested;
  if (suggestion === undefined) return [];
  const spanMs = Math.max(1_000, (toMs ?? 0) - (fromMs ?? 0));
  const about = suggestion.isSampled ? "about " : "";
  return [
    `${count(counted, "request")} of ${about}${count(suggestion.callers, "caller")} in ${formatDuration(spanMs)}`,
    ...(uncounted === 0
      ? []
      : [`not counted, with another path or no value for the key: ${number(uncounted)}`]),
    "",
    ...plotOf(suggestion, columns),
    ...sayShare(suggestion),
    ...formatRemarks(suggested),
  ];
}

/** That the share is too small for any caller, if it is, since the windows divide it. */
function sayShare({ callers, refuseAtMost, windows }: Suggestion): string[] {
  const enough = Math.ceil((windows.length / callers) * SHARE_STEPS) / SHARE_STEPS;
  if (refuseAtMost === 0 || refuseAtMost * callers >= windows.length || enough >= 1) return [];
  return [
    "",
    `${percent(refuseAtMost)} of ${count(callers, "caller")}, divided among ${windows.length} windows, is less than one caller, so the busiest one sets every limit; --refuse-at-most ${percent(enough)} lets each limit refuse one`,
  ];
}

/** What is to be said of the log itself. */
export function formatRemarks({ remarks, log }: Suggested): string[] {
  return [
    ...(remarks.length === 0 ? [] : ["", ...remarks.map((remark) => safe(remark, 300))]),
    ...sayMalformed({ log }),
    "",
  ];
}

function plotOf({ windows }: Suggestion, columns: number): string[] {
  const most = Math.max(10, ...windows.map((window) => window.most));
  const width = Math.max(8, Math.min(BAR_WIDTH_MAX, columns - LABELS_WIDTH));
  const rows = windows.flatMap((window) => [
    ...window.quantiles.map(({ share, requests }, at) => [
      at === 0 ? `in ${formatDuration(window.windowMs)}` : "",
      share === 1 ? "busiest" : percent(share),
      number(requests),
      bar(Math.log10(requests + 1) / Math.log10(most + 1), width),
    ]),
    ["", "limit", number(window.limit), markOf(window, most, width)],
  ]);
  const head = ["", "of callers", "at most", "requests, powers of ten"];
  return formatTable([head, ...rows], ["left", "right", "right", "left"]);
}

/** Where the limit is, under the bars. */
function markOf({ limit }: WindowSuggestion, most: number, width: number): string {
  const at = Math.round((Math.log10(limit + 1) / Math.log10(most + 1)) * width);
  return `${" ".repeat(Math.max(0, Math.min(width, at) - 1))}▲`;
}

function number(value: number): string {
  return value.toLocaleString("en-GB");
}
