// Comparisons of speed, expressed as time: how many times as long the subject takes.

import { type Finding, toFinding } from "../bench.js";
import type { Comparison } from "../harness.js";

/** The finding of a comparison, with the time of the subject over that of the reference. */
export function toTimeFinding(comparison: Comparison): Finding {
  const { subject, reference, ratio, spread } = comparison;
  const ns = (perSec: number) => Math.round(1e9 / perSec);
  const times = `${ns(subject.medianPerSec)} ns over ${ns(reference.medianPerSec)} ns`;
  const finding = toFinding(comparison);
  return {
    ...finding,
    ratio: 1 / ratio,
    value: 1 / ratio,
    spread: [1 / spread[1], 1 / spread[0]],
    note: `${times}; ${finding.note}`,
  };
}
