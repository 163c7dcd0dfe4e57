// Plays a run, and the scrubber that shows and chooses the time.

import { useEffect, useId, useRef, useState } from "preact/hooks";
import { every } from "../../../base/clock.js";
import { Button } from "../../../ui/forms/button.js";
import { formatClock } from "./axis.js";

/** How long a run takes when it is played. */
const PLAY_MS = 12_000;
/** With reduced motion time goes in steps instead. */
const CALM_STEP_MS = 1_000;
/** Thousandths of the run that a key of the scrubber moves. */
export const SCRUB_MAX = 1_000;

interface PlayerProps {
  readonly atMs: number;
  readonly durationMs: number;
  readonly isPlaying: boolean;
  onPlay(): void;
  onPause(): void;
  onScrub(share: number): void;
}

/** The button and the scrubber. */
export function Player(props: PlayerProps) {
  const { atMs, durationMs, isPlaying } = props;
  const id = useId();
  const shown = formatClock(atMs, durationMs);
  return (
    <div class="playground-player">
      <Button kind="primary" onClick={isPlaying ? props.onPause : props.onPlay}>
        {isPlaying ? "Pause" : "Play"}
      </Button>
      <label for={id}>Time</label>
      <input
        id={id}
        type="range"
        min={0}
        max={SCRUB_MAX}
        value={Math.round((SCRUB_MAX * atMs) / durationMs)}
        aria-valuetext={shown}
        onInput={({ currentTarget }) => props.onScrub(Number(currentTarget.value) / SCRUB_MAX)}
      />
      <output for={id}>
        {shown} <small>of {formatClock(durationMs, durationMs)}</small>
      </output>
    </div>
  );
}

/** The share of a run that is played so far, and what starts and stops it. */
export interface Playing {
  /** Undefined while it stands. */
  readonly share: number | undefined;
  start(fromShare: number): void;
  stop(): void;
}

/** Plays runs. `onEnd` is called with the share at which it stopped. */
export function usePlaying(onEnd: (share: number) => void): Playing {
  const [share, setShare] = useState<number>();
  const latest = useRef(0);
  const isPlaying = share !== undefined;
  const end = useRef(onEnd);
  end.current = onEnd;
  useEffect(() => {
    if (!isPlaying) return;
    return run((passedMs) => {
      latest.current = Math.min(1, latest.current + passedMs / PLAY_MS);
      if (latest.current < 1) return setShare(latest.current);
      setShare(undefined);
      end.current(1);
    });
  }, [isPlaying]);
  return {
    share,
    start: (fromShare) => {
      latest.current = fromShare >= 0.999 ? 0 : fromShare;
      setShare(latest.current);
    },
    stop: () => {
      setShare(undefined);
      end.current(latest.current);
    },
  };
}

/** Calls `move` with the time that has passed: every frame, or once a second if the user wants less motion. */
function run(move: (passedMs: number) => void): () => void {
  if (matchMedia("(prefers-reduced-motion: reduce)").matches)
    return every(CALM_STEP_MS, () => move(CALM_STEP_MS));
  let beforeMs: number | undefined;
  let frame = requestAnimationFrame(function next(nowMs) {
    move(nowMs - (beforeMs ?? nowMs));
    beforeMs = nowMs;
    frame = requestAnimationFrame(next);
  });
  return () => cancelAnimationFrame(frame);
}
