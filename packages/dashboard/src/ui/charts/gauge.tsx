// How much of a limit is used, as a bar with its numbers.

import { formatCount, formatShare } from "../formats/format.js";

interface GaugeProps {
  readonly used: number;
  readonly limit: number;
  /** What it shows, for screen readers. */
  readonly label: string;
}

/** A bar that fills as a limit is used: red when nothing is left. */
export function Gauge({ used, limit, label }: GaugeProps) {
  const share = limit === 0 ? 1 : used / limit;
  const kind = share >= 1 ? "bad" : share >= 0.8 ? "warn" : "good";
  return (
    <div class="gauge">
      {/* biome-ignore lint/a11y/useSemanticElements: each browser draws a meter in its own way. */}
      <div
        class={`gauge-bar ${kind}`}
        role="meter"
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={limit}
        aria-valuenow={used}
      >
        <i style={{ width: `${Math.min(1, Math.max(0, share)) * 100}%` }} />
      </div>
      <span>
        {formatCount(used)} of {formatCount(limit)} <small>{formatShare(share)}</small>
      </span>
    </div>
  );
}
