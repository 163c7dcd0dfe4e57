// The picture of one algorithm: what became of requests in each step, how full it is, and the interval in which it
// admitted the most.

import { memo } from "preact/compat";
import { useMemo } from "preact/hooks";
import type { Algorithm } from "../model/algorithms.js";
import type { AlgorithmResult } from "../model/results.js";
import { type Run, STEPS } from "../model/simulate.js";

const WIDTH = 600;
const BARS_HEIGHT = 100;
const FILL_HEIGHT = 30;
const STEP_WIDTH = WIDTH / STEPS;
const GAP = 0.8;
/** More edges than that would be a grey surface. */
const EDGES_MAX = 60;

/** What the lower part shows. */
export const FILL_NAMES: Readonly<Record<Algorithm, string>> = {
  fixedWindow: "Window fill",
  slidingWindowLog: "Window fill",
  slidingWindowCounter: "Window fill",
  tokenBucket: "Tokens left",
  leakyBucket: "Queue fill",
  concurrency: "Permits in use",
  quota: "Quota used",
};

interface PictureProps {
  readonly result: AlgorithmResult;
  readonly stepMax: number;
  readonly windowMs: number;
  readonly durationMs: number;
}

/** Drawn once for each change of the view; the cursor is a layer of its own. */
export const AlgorithmPicture = memo(function AlgorithmPicture(props: PictureProps) {
  const { result, stepMax, windowMs, durationMs } = props;
  const { run } = result;
  const bars = useMemo(() => toBars(run, stepMax), [run, stepMax]);
  const fill = useMemo(() => toFill(run), [run]);
  return (
    <svg
      class="playground-picture"
      viewBox={`0 0 ${WIDTH} ${BARS_HEIGHT + FILL_HEIGHT + 8}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <Edges windowMs={windowMs} durationMs={durationMs} />
      <path class="playground-refused" d={bars.refused} />
      <path class="playground-delayed" d={bars.delayed} />
      <path class="playground-admitted" d={bars.admitted} />
      <path class="playground-base" d={`M0 ${BARS_HEIGHT}H${WIDTH}`} />
      <g transform={`translate(0 ${BARS_HEIGHT + 8})`}>
        <rect class="playground-fill-box" width={WIDTH} height={FILL_HEIGHT} />
        <path class="playground-fill" d={fill} />
      </g>
    </svg>
  );
});

function Edges({ windowMs, durationMs }: Pick<PictureProps, "windowMs" | "durationMs">) {
  const windows = Math.round(durationMs / windowMs);
  if (windows > EDGES_MAX) return null;
  const lines = Array.from(
    { length: windows - 1 },
    (_, at) => `M${(((at + 1) * WIDTH) / windows).toFixed(2)} 0V${BARS_HEIGHT}`,
  );
  return <path class="playground-edges" d={lines.join("")} />;
}

/** Bars on top of one another: admitted, delayed, refused. */
function toBars(run: Run, stepMax: number) {
  const paths = { admitted: "", delayed: "", refused: "" };
  const scale = (BARS_HEIGHT - 4) / stepMax;
  for (let at = 0; at < STEPS; at++) {
    let top = BARS_HEIGHT;
    for (const name of ["admitted", "delayed", "refused"] as const) {
      const height = (run[name][at] ?? 0) * scale;
      if (height === 0) continue;
      top -= height;
      const left = (at * STEP_WIDTH + GAP / 2).toFixed(2);
      paths[name] += `M${left} ${top.toFixed(2)}h${STEP_WIDTH - GAP}v${height.toFixed(2)}H${left}z`;
    }
  }
  return paths;
}

/** Flat in each step: what was in use at its end. */
function toFill({ algorithm, used }: Run): string {
  const steps = used.map((share, at) => {
    const level = algorithm === "tokenBucket" ? 1 - share : share;
    return `V${(FILL_HEIGHT * (1 - level)).toFixed(2)}H${((at + 1) * STEP_WIDTH).toFixed(2)}`;
  });
  return `M0 ${FILL_HEIGHT}${steps.join("")}V${FILL_HEIGHT}z`;
}
