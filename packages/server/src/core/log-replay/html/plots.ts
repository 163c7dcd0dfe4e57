// Plots of a report as SVG: bars over time, which need neither scripts nor styles of their own.

import { html, type Markup } from "./markup.js";

/** Counts that are drawn over each other, those first that are drawn at the back. */
export interface PlotSeries {
  readonly name: string;
  /** A class of the style sheet. */
  readonly colour: "all" | "refused" | "before";
  readonly counts: readonly number[];
}

const WIDTH = 960;
const HEIGHT = 180;

/** Bars of several series, each as high as its counts. */
export function plot(label: string, series: readonly PlotSeries[], height = HEIGHT): Markup {
  const steps = Math.max(1, ...series.map(({ counts }) => counts.length));
  const most = Math.max(1, ...series.flatMap(({ counts }) => [Math.max(0, ...counts)]));
  const bar = WIDTH / steps;
  return html`<svg viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${label}" preserveAspectRatio="none">${series.map(
    ({ colour, counts }) =>
      html`<path class="${colour}" d="${counts.map((count, at) => toBar(count / most, at * bar, bar, height)).join("")}"/>`,
  )}</svg>`;
}

/** What the axes of a plot say: times from left to right, and the highest value. */
export interface PlotAxes {
  readonly times: readonly string[];
  readonly most: string;
}

/** A plot with labels on its axes. They stand beside the drawing, which is stretched to the width of the page. */
export function plotWithAxes(drawing: Markup, { times, most }: PlotAxes): Markup {
  return html`<figure class="plot"><div class="y"><span>${most}</span><span>0</span></div>${drawing}<div class="x">${times.map(
    (time) => html`<span>${time}</span>`,
  )}</div></figure>`;
}

function toBar(share: number, x: number, width: number, height: number): string {
  if (share === 0) return "";
  // A single refusal among thousands of requests stays visible.
  const tall = Math.max(1, share * (height - 2));
  return `M${round(x)} ${height}v${round(-tall)}h${round(Math.max(0.8, width - 0.6))}v${round(tall)}z`;
}

function round(value: number): string {
  return String(Math.round(value * 100) / 100);
}
