// Traffic drawn by hand: bars that a pointer drags, or that arrow keys change.

import { useRef, useState } from "preact/hooks";
import { BAR_MAX, BARS } from "../model/settings.js";
import { formatClock } from "./axis.js";

interface DrawingProps {
  readonly bars: readonly number[];
  readonly durationMs: number;
  onDraw(bars: readonly number[]): void;
}

const PAGE = 5;

/** The bars. One is reached with Tab; left and right lead to the others, up and down change the one in focus. */
export function Drawing({ bars, durationMs, onDraw }: DrawingProps) {
  const box = useRef<HTMLFieldSetElement>(null);
  const [focused, setFocused] = useState(0);
  const set = (at: number, value: number) => {
    const bounded = Math.min(BAR_MAX, Math.max(0, value));
    onDraw(bars.map((bar, index) => (index === at ? bounded : bar)));
  };
  const focus = (at: number) => {
    const next = Math.min(BARS - 1, Math.max(0, at));
    setFocused(next);
    (box.current?.children[next] as HTMLElement | undefined)?.focus();
  };
  const draw = (event: PointerEvent) => {
    const { left, top, width, height } = (box.current as HTMLElement).getBoundingClientRect();
    const at = Math.floor(((event.clientX - left) / width) * BARS);
    if (at >= 0 && at < BARS) set(at, Math.round((1 - (event.clientY - top) / height) * BAR_MAX));
  };
  const press = (event: KeyboardEvent, at: number) => {
    const value = bars[at] ?? 0;
    const act = {
      ArrowUp: () => set(at, value + 1),
      ArrowDown: () => set(at, value - 1),
      PageUp: () => set(at, value + PAGE),
      PageDown: () => set(at, value - PAGE),
      ArrowLeft: () => focus(at - 1),
      ArrowRight: () => focus(at + 1),
      Home: () => focus(0),
      End: () => focus(BARS - 1),
      Delete: () => set(at, 0),
    }[event.key];
    if (act === undefined) return;
    event.preventDefault();
    act();
  };
  return (
    <div>
      <p class="note">
        Drag over the bars, or focus one: up and down change it, left and right go to the next.
      </p>
      <fieldset
        ref={box}
        class="playground-drawing"
        aria-label="Requests in each step of the run"
        onPointerDown={(event) => {
          box.current?.setPointerCapture(event.pointerId);
          draw(event);
        }}
        onPointerMove={(event) => {
          if (event.buttons === 1) draw(event);
        }}
      >
        {bars.map((bar, at) => (
          <div
            key={at}
            role="slider"
            tabIndex={at === focused ? 0 : -1}
            aria-label={`From ${formatClock((at * durationMs) / BARS, durationMs)}`}
            aria-orientation="vertical"
            aria-valuemin={0}
            aria-valuemax={BAR_MAX}
            aria-valuenow={bar}
            aria-valuetext={`${bar} requests`}
            onKeyDown={(event) => press(event, at)}
            onFocus={() => setFocused(at)}
          >
            <i style={{ height: `${(100 * bar) / BAR_MAX}%` }} />
          </div>
        ))}
      </fieldset>
    </div>
  );
}
