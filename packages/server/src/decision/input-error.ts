// A problem in the body of a request: the field, as a path from the root of the body, and what was seen there. The
// path is put together while the error propagates, so that valid input costs nothing.

import { type Path, Reading, type Shape, Spot } from "sluice/shapes";
import { ServerError, show } from "../base/errors.js";

/** A value that can't be used. */
export class InputError extends Error {
  override readonly name = "InputError";
  readonly #problem: string;
  #path = "";

  /** @param problem - What a value has to be and what was seen: `must be a string, got 7`. */
  constructor(problem: string) {
    super(problem);
    this.#problem = problem;
  }

  /** Records that the value is in this field, or at this index of a list. */
  within(step: string | number): this {
    const isIdentifier = typeof step === "string" && /^[A-Za-z_]\w*$/.test(step);
    const text = isIdentifier ? step : `[${JSON.stringify(step)}]`;
    const isNext = this.#path === "" || this.#path.startsWith("[");
    this.#path = isNext ? `${text}${this.#path}` : `${text}.${this.#path}`;
    return this;
  }

  /** The error that callers see. */
  toServerError(): FieldError {
    const field = this.#path;
    return new FieldError(
      field === "" ? `the body ${this.#problem}` : `${field} ${this.#problem}`,
      field,
    );
  }
}

/** Bad input, with the field that it is about. */
export class FieldError extends ServerError {
  /** `facts.method`; empty if it is about the whole body. */
  readonly field: string;

  constructor(seen: string, field: string) {
    super("SLUICE_REQUEST_INVALID", seen);
    this.field = field;
  }
}

/** Reads input by a shape. @throws InputError for the first thing that is wrong. */
export function readToFirstProblem<T>(shape: Shape<T>, value: unknown): T {
  return shape.read(value, ROOT) as T;
}

/** A reading that ends at the first problem, so that it keeps nothing between two inputs. */
class FirstProblemReading extends Reading {
  readonly problemCount = 0;

  report(path: Path, problem: string): never {
    const error = new InputError(problem);
    for (let i = path.length - 1; i >= 0; i--) error.within(path[i]);
    throw error;
  }

  /** Maps and lists are shown by their kind only. */
  override show(value: unknown): string {
    return show(value);
  }
}

const ROOT = new Spot(new FirstProblemReading());
