// Text of rules into a plain value, or all that is wrong with it as YAML.

import { Problems, type Source } from "./problems.js";
import { readYaml } from "./yaml.js";

/** Reads a text. Throws all problems of its YAML together. */
export function toSource(text: string, file: string | undefined): Source {
  const { problems, value, positionOf } = readYaml(text);
  let next = 0;
  const told = new Problems({ value: undefined, file, locate: () => problems[next++].position });
  for (const { message } of problems) told.add([], message);
  told.throwIfAny();
  return { value, file, locate: positionOf };
}
