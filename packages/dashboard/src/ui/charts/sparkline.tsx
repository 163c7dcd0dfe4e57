// A line of the size of a word.

interface SparklineProps {
  readonly values: readonly number[];
  /** What it shows, for screen readers. */
  readonly label: string;
  readonly kind?: "allowed" | "refused";
}

const WIDTH = 96;
const HEIGHT = 24;

/** The last values as a line, scaled to the largest. */
export function Sparkline({ values, label, kind = "allowed" }: SparklineProps) {
  // A line needs two values: until then, the page has just been opened, a flat one stands in its place.
  if (values.length < 2)
    return (
      <svg class="sparkline" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={label}>
        <line x1={0} x2={WIDTH} y1={HEIGHT - 1} y2={HEIGHT - 1} />
      </svg>
    );
  const top = Math.max(1e-9, ...values);
  const step = WIDTH / Math.max(1, values.length - 1);
  const points = values
    .map(
      (value, at) =>
        `${(at * step).toFixed(1)},${(HEIGHT - 1 - (value / top) * (HEIGHT - 2)).toFixed(1)}`,
    )
    .join(" ");
  return (
    <svg
      class={`sparkline ${kind}`}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      role="img"
      aria-label={label}
    >
      <polyline points={points} />
    </svg>
  );
}
