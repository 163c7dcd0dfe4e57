// Reads what a client sent by its shape, and puts everything that is wrong with it into one error.

import { type Path, Reading, type Shape, Spot } from "sluice/shapes";
import { ServerError, show } from "./errors.js";

/** The most problems that an error lists. */
const PROBLEMS_MAX = 20;

/**
 * A value, read and checked.
 *
 * @param whole - What the value as a whole is called in an error; default `the body`.
 * @throws ServerError `SLUICE_REQUEST_INVALID` that says where something is wrong and what was seen.
 */
export function readInput<T>(shape: Shape<T>, value: unknown, whole = "the body"): T {
  const reading = new InputReading(whole);
  const read = shape.read(value, new Spot(reading));
  if (reading.problems.length === 0) return read as T;
  throw new ServerError("SLUICE_REQUEST_INVALID", reading.problems.join("; "));
}

/** Collects what is wrong with a value. */
class InputReading extends Reading {
  readonly problems: string[] = [];
  readonly #whole: string;
  #problemCount = 0;

  constructor(whole: string) {
    super();
    this.#whole = whole;
  }

  get problemCount(): number {
    return this.#problemCount;
  }

  report(path: Path, problem: string): void {
    this.#problemCount += 1;
    if (this.#problemCount > PROBLEMS_MAX) return;
    this.problems.push(`${path.length === 0 ? this.#whole : path.join(".")} ${problem}`);
  }

  override show(value: unknown): string {
    return show(value);
  }
}
