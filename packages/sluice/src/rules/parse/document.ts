// Reads a string of YAML or JSON into a document of rules, or reports everything that is wrong with it as YAML.

import { Problems, type RulesDocument } from "./problems.js";
import { readYaml } from "./yaml.js";

/** Reads a string. Throws all problems of its YAML together. */
export function readDocument(text: string, file: string | undefined): RulesDocument {
  const { problems, value, positionOf } = readYaml(text);
  let next = 0;
  const told = new Problems({ value: undefined, file, locate: () => problems[next++].position });
  for (const { message } of problems) told.add([], message);
  told.throwIfAny();
  return { value, file, locate: positionOf };
}
