// The name that was probably meant, for errors about one that is unknown.

/** Longer names are not compared: the time that it takes grows with their length. */
const NAME_LENGTH_MAX = 64;

/** The most letters in which a name may differ. Beyond that it is another word. */
const DISTANCE_MAX = 3;

/**
 * The known name that differs least, if it differs in at most a third of its letters (one of two) and in at most
 * three. Returns none if several differ equally.
 */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  if (name.length > NAME_LENGTH_MAX) return undefined;
  const distances = known.map((each) => distanceOf(name.toLowerCase(), each.toLowerCase()));
  const least = Math.min(...distances);
  const most = Math.min(DISTANCE_MAX, Math.max(name.length > 1 ? 1 : 0, name.length / 3));
  const isClear = distances.indexOf(least) === distances.lastIndexOf(least);
  return isClear && least <= most ? known[distances.indexOf(least)] : undefined;
}

/**
 * What an error says after an unknown name: the name that was probably meant, if there is one, and all known names.
 *
 * @param meant - Default: the nearest known name.
 */
export function nameHint(
  name: string,
  known: readonly string[],
  meant: string | undefined = nearestName(name, known),
): string {
  return `${meant === undefined ? ";" : `, did you mean ${meant}?`} known: ${known.join(", ")}`;
}

/** How many letters have to be inserted, deleted, changed or swapped with the next to turn one name into the other. */
function distanceOf(a: string, b: string): number {
  let [before, row] = [[] as number[], Array.from({ length: b.length + 1 }, (_, i) => i)];
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swap = isSwap ? before[j - 2] + 1 : change;
      next.push(Math.min(change, swap, row[j] + 1, next[j - 1] + 1));
    }
    [before, row] = [row, next];
  }
  return row[b.length];
}
