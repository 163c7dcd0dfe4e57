// The name that was probably meant, at the end of an error about an unknown one.

import { nearestName } from "sluice/rules";

/** `; did you mean pro?`, or nothing if no known name is near. */
export function didYouMean(name: string, known: readonly string[]): string {
  const meant = nearestName(name, known);
  return meant === undefined ? "" : `; did you mean ${meant}?`;
}
