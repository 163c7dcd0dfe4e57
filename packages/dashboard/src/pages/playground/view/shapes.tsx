// The choice of a shape, each with a small picture of itself.

import { useId } from "preact/hooks";
import { SHAPES, type Shape } from "../model/settings.js";

const NAMES: Readonly<Record<Shape, string>> = {
  edge: "Edge burst",
  steady: "Steady",
  storm: "Retry storm",
  clients: "Many clients",
  drawn: "Draw it",
  log: "Paste a log",
};

/** Bars of the small pictures, 0 to 10. */
const PICTURES: Readonly<Record<Shape, readonly number[]>> = {
  edge: [0, 0, 0, 0, 0, 9, 10, 0, 0, 0, 0, 0],
  steady: [5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5],
  storm: [1, 1, 1, 10, 0, 7, 0, 7, 0, 5, 0, 3],
  clients: [5, 3, 6, 2, 7, 5, 3, 8, 4, 6, 3, 5],
  drawn: [1, 2, 3, 5, 7, 8, 9, 8, 6, 4, 2, 1],
  log: [2, 0, 3, 1, 0, 6, 2, 0, 1, 4, 0, 2],
};

interface ShapesProps {
  readonly value: Shape;
  onChoose(shape: Shape): void;
}

/** The choice. */
export function Shapes({ value, onChoose }: ShapesProps) {
  const name = useId();
  return (
    <fieldset class="playground-shapes">
      <legend>Traffic</legend>
      {SHAPES.map((shape) => (
        <label key={shape}>
          <input
            type="radio"
            name={name}
            checked={shape === value}
            onChange={() => onChoose(shape)}
          />
          <svg viewBox="0 0 48 20" aria-hidden="true">
            {PICTURES[shape].map((height, at) => (
              <rect key={at} x={4 * at} y={20 - 2 * height} width={3} height={2 * height} />
            ))}
          </svg>
          <span>{NAMES[shape]}</span>
        </label>
      ))}
    </fieldset>
  );
}
