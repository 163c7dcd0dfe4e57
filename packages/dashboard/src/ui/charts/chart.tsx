// A chart over time: uPlot, which draws thousands of points on a canvas within a frame. Its colours come from the
// style sheet, so that it follows the theme.

import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

/** A line of a chart. */
export interface ChartSeries {
  readonly name: string;
  /** A custom property of the style sheet: `--allowed`. */
  readonly colour: string;
  /** Whether the area below the line is filled. */
  readonly isFilled?: boolean;
  /** Drawn as steps: the value holds until the next one. */
  readonly isStepped?: boolean;
}

interface ChartProps {
  /** What it shows, for screen readers. */
  readonly label: string;
  readonly series: readonly ChartSeries[];
  /** Unix seconds (or any number, if `isTime` is false), and then the values of each series; null is a gap. */
  readonly data: readonly (readonly (number | null)[])[];
  readonly heightPx?: number;
  /** Whether the first row are times. Default true. */
  readonly isTime?: boolean;
  format(value: number): string;
}

/** A chart of several lines. */
export function Chart(props: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const { series, heightPx = 220, isTime = true, format } = props;
  const names = series.map(({ name }) => name).join();
  useEffect(() => {
    const { current } = box;
    if (current === null) return;
    const made = new uPlot(toOptions(props, current.clientWidth, heightPx, isTime), [[]], current);
    made.setData(props.data as uPlot.AlignedData);
    plot.current = made;
    const resized = new ResizeObserver(() =>
      made.setSize({ width: current.clientWidth, height: heightPx }),
    );
    resized.observe(current);
    const restyled = watchTheme(() => made.redraw(false));
    return () => {
      resized.disconnect();
      restyled();
      made.destroy();
    };
  }, [names, heightPx, isTime]);
  useEffect(() => {
    plot.current?.setData(props.data as uPlot.AlignedData);
  }, [props.data]);
  return (
    <figure class="chart" aria-label={props.label}>
      <div ref={box} class="chart-plot" style={{ height: `${heightPx}px` }} aria-hidden="true" />
      <figcaption>
        {series.map(({ name, colour }, at) => (
          <span key={name} class="chart-key">
            <i style={{ background: `var(${colour})` }} /> {name}{" "}
            <b>{formatLast(props.data[at + 1], format)}</b>
          </span>
        ))}
      </figcaption>
    </figure>
  );
}

function formatLast(
  values: readonly (number | null)[] | undefined,
  format: (value: number) => string,
): string {
  const value = values?.findLast((each) => each !== null);
  return value === undefined || value === null ? "–" : format(value);
}

function toOptions(
  { series, format }: ChartProps,
  width: number,
  height: number,
  isTime: boolean,
): uPlot.Options {
  const axis = {
    stroke: () => colourOf("--faint"),
    grid: { stroke: () => colourOf("--line"), width: 1 },
    ticks: { show: false },
    font: "12px system-ui, sans-serif",
  };
  return {
    width,
    height,
    legend: { show: false },
    cursor: { points: { show: false }, drag: { x: false, y: false } },
    scales: { x: { time: isTime }, y: { range: (_, _min, max) => [0, Math.max(1, max * 1.1)] } },
    axes: [
      { ...axis, size: 30, ...(isTime && timeAxis()) },
      { ...axis, size: 56, values: (_, ticks) => ticks.map((tick) => format(tick)) },
    ],
    series: [
      {},
      ...series.map(({ name, colour, isFilled = false, isStepped = false }) => ({
        label: name,
        stroke: () => colourOf(colour),
        width: 2,
        points: { show: false },
        ...(isStepped && {
          paths: (uPlot.paths.stepped as (o: object) => uPlot.Series.PathBuilder)({ align: 1 }),
        }),
        ...(isFilled && { fill: () => `color-mix(in srgb, ${colourOf(colour)} 18%, transparent)` }),
      })),
    ],
  };
}

/** Whole seconds at least, as 12:42:05; from a day on, as 16 Nov. */
function timeAxis(): Pick<uPlot.Axis, "incrs" | "values"> {
  return {
    incrs: TICKS_S,
    values: (_, ticks, _axis, _space, stepS) =>
      ticks.map((tick) => (stepS < DAY_S ? clock : day).format(tick * 1_000)),
  };
}

const DAY_S = 86_400;
const TICKS_S = [1, 5, 10, 15, 30, 60, 300, 900, 1_800, 3_600, 7_200, 21_600, 43_200].concat(
  [1, 2, 7, 14, 28].map((days) => days * DAY_S),
);
const clock = new Intl.DateTimeFormat("en", { timeStyle: "medium", hourCycle: "h23" });
const day = new Intl.DateTimeFormat("en", { day: "numeric", month: "short" });

function colourOf(property: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(property).trim();
}

function watchTheme(task: () => void): () => void {
  const media = matchMedia("(prefers-color-scheme: dark)");
  const observer = new MutationObserver(task);
  media.addEventListener("change", task);
  observer.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  return () => {
    media.removeEventListener("change", task);
    observer.disconnect();
  };
}
