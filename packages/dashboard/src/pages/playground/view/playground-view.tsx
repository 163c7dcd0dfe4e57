// The playground, as a page of the dashboard and as a site of its own.

import { useState } from "preact/hooks";
import { formatCount, formatDuration } from "../../../ui/formats/format.js";
import { Page } from "../../../ui/page/page.js";
import { CopyButton } from "../../../ui/text/copy.js";
import type { Results } from "../model/results.js";
import { withShape } from "../model/settings.js";
import { STEPS } from "../model/simulate.js";
import { AlgorithmCard } from "./algorithm-card.js";
import { Behaviour, Controls } from "./controls.js";
import { Drawing } from "./drawing.js";
import { LogBox } from "./log-box.js";
import { Player, SCRUB_MAX, usePlaying } from "./player.js";
import { ReplayReportBox } from "./replay-report.js";
import { Shapes } from "./shapes.js";
import { Summary } from "./summary.js";
import { type ShownView, useView } from "./use-view.js";
import "./settings.css";
import "./player.css";
import "./algorithms.css";
import "./summary.css";

/** The whole page. `url` changes when a link leads to another view. */
export function PlaygroundView({ url }: { readonly url: string }) {
  const shown = useView(url);
  const { view, results, change, show } = shown;
  return (
    <Page
      title="Playground"
      lead="The same traffic through every algorithm. The library itself decides, in this page."
      actions={<CopyButton name="Copy link" value={location.href} />}
    >
      <section class="card playground-settings" aria-label="Settings">
        <Shapes
          value={view.settings.shape}
          onChoose={(shape) => change(withShape(view.settings, shape))}
        />
        <Own shown={shown} />
        <Controls settings={view.settings} onChange={change} />
        <Behaviour settings={view.settings} onChange={change} />
      </section>
      {results.traffic.leftOut > 0 && (
        <p class="notice">
          Only the first {formatCount(results.traffic.arrivals.length)} requests are run.
        </p>
      )}
      <Algorithms results={results} at={view.at} onChoose={(at) => show({ at })} />
      <Summary results={results} />
      <ReplayReportBox />
    </Page>
  );
}

/** What belongs to traffic of one's own. */
function Own({ shown: { view, results, change, show } }: { readonly shown: ShownView }) {
  switch (view.settings.shape) {
    case "drawn":
      return (
        <Drawing
          bars={view.settings.bars}
          durationMs={results.traffic.durationMs}
          onDraw={(bars) => change({ bars })}
        />
      );
    case "log":
      return <LogBox log={view.log} onRead={(log) => show({ log, at: undefined })} />;
    default:
      return null;
  }
}

interface AlgorithmsProps {
  readonly results: Results;
  readonly at: number | undefined;
  onChoose(at: number): void;
}

function Algorithms({ results, at, onChoose }: AlgorithmsProps) {
  const { durationMs } = results.traffic;
  const [pointed, setPointed] = useState<number>();
  const choose = (share: number) => onChoose(Math.round(share * SCRUB_MAX));
  const playing = usePlaying(choose);
  const chosen = at === undefined ? results.startAtMs / durationMs : at / SCRUB_MAX;
  const atMs = (playing.share ?? pointed ?? chosen) * durationMs;
  const isPlaying = playing.share !== undefined;
  return (
    <>
      <Player
        atMs={atMs}
        durationMs={durationMs}
        isPlaying={isPlaying}
        onPlay={() => playing.start(at === undefined ? 0 : chosen)}
        onPause={playing.stop}
        onScrub={(share) => {
          if (isPlaying) playing.stop();
          choose(share);
        }}
      />
      <div class="playground-algorithms">
        {results.algorithms.map((result) => (
          <AlgorithmCard
            key={result.run.algorithm}
            result={result}
            results={results}
            atMs={atMs}
            isPlaying={isPlaying}
            onPoint={setPointed}
            onChoose={choose}
          />
        ))}
        <Legend results={results} />
      </div>
    </>
  );
}

/** How to read the pictures. */
function Legend({ results }: { readonly results: Results }) {
  const { durationMs } = results.traffic;
  return (
    <section class="card playground-legend" aria-label="How to read this">
      <h2>How to read this</h2>
      <ul>
        <li>
          <i class="is-admitted" /> Requests that were admitted in each step of{" "}
          {formatDuration(durationMs / STEPS)}
        </li>
        <li>
          <i class="is-delayed" /> Admitted, but they had to wait
        </li>
        <li>
          <i class="is-refused" /> Refused with status 429
        </li>
        <li>
          <i class="is-worst" /> The interval of one window in which the most were admitted: red if
          there were more than the limit
        </li>
        <li>
          <i class="is-fill" /> How much of the limit is in use
        </li>
        <li>
          <i class="is-edge" /> Edges of windows. Midnight UTC is in the middle.
        </li>
      </ul>
      <p class="note">
        Point at a picture to see the response to the request there. All pictures have one scale.
      </p>
    </section>
  );
}
