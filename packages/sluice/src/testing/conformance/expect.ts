// The kit's own assertions, so that it runs under any test runner and in any runtime. A failure
// says what was done, what was expected and what was seen.

import type { Decision } from "../../base/decision.js";
import { SluiceError, type SluiceErrorCode, show } from "../../base/errors.js";

/** Throws unless both are the same value, or lists of the same values. */
export function expectEqual<T>(what: string, seen: T, expected: T): void {
  const isSame =
    Array.isArray(seen) && Array.isArray(expected)
      ? seen.length === expected.length && seen.every((item, i) => Object.is(item, expected[i]))
      : Object.is(seen, expected);
  if (!isSame) throw new Error(`${what}: expected ${text(expected)}, saw ${text(seen)}`);
}

/** Throws unless the decision has all the values of `expected`; names the ones that differ. */
export function expectDecision(what: string, seen: Decision, expected: Partial<Decision>): void {
  const fields = Object.keys(expected) as (keyof Decision)[];
  const wrong = fields.filter((field) => !Object.is(seen[field], expected[field]));
  if (wrong.length === 0) return;
  const differences = wrong.map(
    (field) => `${field} ${text(expected[field])}, saw ${text(seen[field])}`,
  );
  throw new Error(`${what}: expected ${differences.join("; ")}`);
}

/** Throws unless the action throws or rejects with that code. */
export async function expectError(
  what: string,
  action: () => unknown,
  code: SluiceErrorCode,
): Promise<void> {
  let seen = "no error";
  try {
    await action();
  } catch (error) {
    if (error instanceof SluiceError && error.code === code) return;
    seen = String(error);
  }
  throw new Error(`${what}: expected an error ${code}, saw ${seen}`);
}

function text(value: unknown): string {
  return Array.isArray(value) ? `[${value.map(show).join(", ")}]` : show(value);
}
