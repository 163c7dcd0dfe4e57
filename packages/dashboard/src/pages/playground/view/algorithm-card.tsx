// One algorithm: its name, what to look at, its picture, what the client under the cursor sees, and its text to copy.

import { memo } from "preact/compat";
import { useMemo } from "preact/hooks";
import { formatBytes, formatCount, formatDuration } from "../../../ui/formats/format.js";
import { CopyButton } from "../../../ui/text/copy.js";
import { isPossible, NAMES } from "../model/algorithms.js";
import { toSeen } from "../model/client-view.js";
import { toCode, toRule } from "../model/copies.js";
import { type AlgorithmResult, attemptAt, type Results } from "../model/results.js";
import { lengthOf } from "../model/sentences.js";
import type { Attempt } from "../model/simulate.js";
import { AlgorithmPicture, FILL_NAMES } from "./algorithm-chart.js";
import { formatClock, toPercent } from "./axis.js";

/** More would run into one another. */
const LABELS_MAX = 6;

interface AlgorithmCardProps {
  readonly result: AlgorithmResult;
  readonly results: Results;
  readonly atMs: number;
  /** Whether time runs: what is still to come is faint. */
  readonly isPlaying: boolean;
  /** The pointer is at this share of the run; undefined when it has left. */
  onPoint(share: number | undefined): void;
  /** The pointer chose this share of the run. */
  onChoose(share: number): void;
}

/** A card. */
export const AlgorithmCard = memo(function AlgorithmCard(props: AlgorithmCardProps) {
  const { result, results } = props;
  const { algorithm } = result.run;
  const { settings } = results;
  const name = NAMES[algorithm];
  return (
    <section class="card playground-algorithm" aria-label={name}>
      <h2>{name}</h2>
      <p class="playground-sentence">{result.sentence}</p>
      <Counts result={result} />
      <div>
        <Chart {...props} />
        <Axis {...results.traffic} windowMs={settings.windowMs} />
      </div>
      <Seen result={result} results={results} atMs={props.atMs} />
      <div class="playground-algorithm-end">
        <Memory result={result} />
        {isPossible(algorithm, settings) && (
          <CopyButton name="Copy as rule" value={toRule(algorithm, settings)} />
        )}
        <CopyButton name="Copy as code" value={toCode(algorithm, settings)} />
      </div>
    </section>
  );
});

function Counts({ result }: { readonly result: AlgorithmResult }) {
  const { admitted, delayed, refused } = result.findings;
  return (
    <p class="playground-counts">
      <span class="is-admitted">
        <b>{formatCount(admitted)}</b> admitted
      </span>
      <span class="is-delayed">
        <b>{formatCount(delayed)}</b> delayed
      </span>
      <span class="is-refused">
        <b>{formatCount(refused)}</b> refused
      </span>
    </p>
  );
}

function Chart({ result, results, atMs, isPlaying, onPoint, onChoose }: AlgorithmCardProps) {
  const { settings, traffic, stepMax } = results;
  const { durationMs } = traffic;
  const shareOf = (event: PointerEvent) => {
    const { left, width } = (event.currentTarget as HTMLElement).getBoundingClientRect();
    return Math.min(1, Math.max(0, (event.clientX - left) / width));
  };
  const share = toPercent(atMs / durationMs);
  return (
    <div
      class="playground-chart"
      role="img"
      aria-label={describe(result)}
      onPointerMove={(event) => onPoint(shareOf(event))}
      onPointerLeave={() => onPoint(undefined)}
      onPointerDown={(event) => onChoose(shareOf(event))}
    >
      <Worst result={result} results={results} />
      <AlgorithmPicture
        result={result}
        stepMax={stepMax}
        windowMs={settings.windowMs}
        durationMs={durationMs}
      />
      <span class="playground-fill-name">{FILL_NAMES[result.run.algorithm]}</span>
      {isPlaying && <div class="playground-future" style={{ left: share }} />}
      <div class="playground-cursor" style={{ left: share }} />
    </div>
  );
}

/** Labels at the edges of windows, or at a few times where there are many. */
function Axis({
  durationMs,
  windowMs,
}: {
  readonly durationMs: number;
  readonly windowMs: number;
}) {
  const windows = Math.round(durationMs / windowMs);
  const parts = windows <= LABELS_MAX ? windows : 4;
  const times = Array.from({ length: parts + 1 }, (_, at) => (at * durationMs) / parts);
  return (
    <div class="playground-axis" aria-hidden="true">
      {times.map((atMs) => (
        <span key={atMs} class="playground-tick" style={{ left: toPercent(atMs / durationMs) }}>
          {formatClock(atMs, durationMs)}
        </span>
      ))}
    </div>
  );
}

function describe({ run, findings }: AlgorithmResult): string {
  const { admitted, delayed, refused } = findings;
  return `${NAMES[run.algorithm]} over time: ${admitted} admitted, ${delayed} delayed, ${refused} refused`;
}

/** The interval of one window with the most admissions: red if there were more than the limit. */
function Worst({
  result,
  results,
}: {
  readonly result: AlgorithmResult;
  readonly results: Results;
}) {
  const { settings, traffic } = results;
  const { worst } = result.findings;
  const { algorithm } = result.run;
  if (worst === undefined || algorithm === "concurrency" || algorithm === "quota") return null;
  const isOver = worst.units > settings.limit;
  const from = worst.fromMs / traffic.durationMs;
  const width = settings.windowMs / traffic.durationMs;
  const text = `${formatCount(worst.units)} in one ${lengthOf(settings.windowMs)}, limit ${formatCount(settings.limit)}`;
  return (
    <div
      class={`playground-worst${isOver ? " is-over" : ""}${from > 0.6 ? " is-late" : ""}`}
      style={{ left: toPercent(from), width: toPercent(Math.min(width, 1 - from)) }}
    >
      <span class="playground-worst-text">{text}</span>
    </div>
  );
}

function Memory({ result }: { readonly result: AlgorithmResult }) {
  const { bytes, entriesMax } = result.memory;
  const note =
    entriesMax === 0
      ? "Memory of one key, as the memory store reports it."
      : `Memory of one key with ${formatCount(entriesMax)} entries, the most it can have.`;
  return (
    <span class="playground-memory" title={note}>
      {entriesMax > 0 && "up to "}
      <b>{formatBytes(bytes)}</b> for each key
    </span>
  );
}

/** The response to the latest request by the time under the cursor. */
function Seen({ result, results, atMs }: Pick<AlgorithmCardProps, "result" | "results" | "atMs">) {
  const attempt = attemptAt(result.run, atMs);
  return (
    <div class="playground-seen">
      {attempt === undefined ? (
        <p class="note">No request yet.</p>
      ) : (
        <SeenResponse result={result} results={results} attempt={attempt} />
      )}
    </div>
  );
}

function SeenResponse({
  result,
  results,
  attempt,
}: Pick<AlgorithmCardProps, "result" | "results"> & { readonly attempt: Attempt }) {
  const { settings, traffic } = results;
  const { algorithm } = result.run;
  const { status, headers } = useMemo(
    () => toSeen(algorithm, settings, attempt),
    [algorithm, settings, attempt],
  );
  const isRefused = status === 429;
  return (
    <>
      <p class="playground-seen-at">
        <b class={isRefused ? "is-refused" : "is-admitted"}>
          {status} {isRefused ? "Too Many Requests" : "OK"}
        </b>{" "}
        at {formatClock(attempt.atMs, traffic.durationMs)}
        {attempt.decision.delayMs > 0 && `, after ${formatDuration(attempt.decision.delayMs)}`}
        {traffic.clients > 1 && `, client ${attempt.client + 1}`}
        {attempt.retries > 0 && `, retry ${attempt.retries}`}
      </p>
      <dl>
        {headers.map(([name, value]) => (
          <div key={name}>
            <dt>{name}:</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </>
  );
}
