// The traffic that every algorithm meets: a trickle, silence, a burst, silence, a second burst, a
// trickle. It is counted in slices, one for each column of a chart; how long a slice lasts is up
// to the scene. The first burst lies across the middle, where a window of 16 slices ends.

/** One stretch of traffic: this many slices with this many requests in each. */
interface Stretch {
  readonly slices: number;
  readonly requests: number;
}

const stretches: readonly Stretch[] = [
  { slices: 16, requests: 1 },
  { slices: 12, requests: 0 },
  { slices: 8, requests: 6 },
  { slices: 16, requests: 0 },
  { slices: 4, requests: 8 },
  { slices: 8, requests: 1 },
];

/** How many requests each slice offers. */
export const offered: readonly number[] = stretches.flatMap(({ slices, requests }) =>
  new Array<number>(slices).fill(requests),
);

/** The instants of all requests, those of a slice spread evenly over it. */
export function arrivals(span: { startMs: number; sliceMs: number }): number[] {
  return offered.flatMap((requests, slice) =>
    Array.from(
      { length: requests },
      (_, n) => span.startMs + slice * span.sliceMs + Math.floor((n * span.sliceMs) / requests),
    ),
  );
}

/** How many of `times` lie in each slice. Times past the last slice are left out. */
export function countBySlice(
  times: readonly number[],
  span: { startMs: number; sliceMs: number },
): number[] {
  const counts = offered.map(() => 0);
  for (const timeMs of times) {
    const slice = Math.floor((timeMs - span.startMs) / span.sliceMs);
    if (slice < counts.length) counts[slice]++;
  }
  return counts;
}

/** The most of `times` that lie in any stretch of `lengthMs`. Times are in order. */
export function mostWithin(times: readonly number[], lengthMs: number): number {
  let most = 0;
  let first = 0;
  for (let last = 0; last < times.length; last++) {
    while (times[last] - times[first] >= lengthMs) first++;
    most = Math.max(most, last - first + 1);
  }
  return most;
}
