// Whether the times of admissions keep the promise of a token bucket: no interval has more of them than the
// capacity plus what the rate refills in it.

/**
 * The most units that any interval had above capacity + rate × its length; 0 if none had.
 *
 * @param atMs - When each unit was admitted, in order.
 */
export function excessOf(
  atMs: readonly number[],
  { capacity, perSec }: { capacity: number; perSec: number },
): number {
  let excess = 0;
  let lowest = Number.POSITIVE_INFINITY;
  for (const [i, ms] of atMs.entries()) {
    const refilled = (ms * perSec) / 1000;
    // The interval may begin at any admission before, whichever makes it the fullest.
    lowest = Math.min(lowest, i - refilled);
    excess = Math.max(excess, i + 1 - refilled - lowest - capacity);
  }
  return excess;
}
