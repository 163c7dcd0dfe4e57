// Keys: what a rule counts by, as text. `tenant:acme|user:42`: each part says what it is, and its value
// is escaped, so that different requests never share a key and the same one never has two.

import type { Dimension } from "./rule.js";
import type { Subject } from "./subject.js";

/** The key of a request under some dimensions; undefined if it lacks one of them. */
export type KeyOf = (subject: Subject) => string | undefined;

/** A function that makes keys of these dimensions. */
export function compileKey(dimensions: readonly Dimension[]): KeyOf {
  const parts = dimensions.map(compilePart);
  if (parts.length === 1) return parts[0];
  return (subject) => {
    let key = "";
    for (const part of parts) {
      const text = part(subject);
      if (text === undefined) return undefined;
      key += key === "" ? text : `|${text}`;
    }
    return key;
  };
}

function compilePart(dimension: Dimension): KeyOf {
  switch (dimension.kind) {
    case "global":
      return () => "global";
    case "ip":
      return ({ address }) => (address === undefined ? undefined : `ip:${address}`);
    case "user":
    case "tenant":
      return ({ facts }) => {
        const value = dimension.kind === "user" ? facts.user : facts.tenant;
        return value === undefined ? undefined : `${dimension.kind}:${value}`;
      };
    case "attribute":
      return ({ facts }) => {
        const value = facts.attributes?.[dimension.name];
        return value === undefined ? undefined : `${dimension.name}:${value}`;
      };
    default:
      throw new Error(`not yet: ${dimension.kind}`);
  }
}

/** Whether a dimension is known only once the caller has proved who it is, or its body was read. */
export function needsIdentity({ kind }: Dimension): boolean {
  return kind === "user" || kind === "tenant" || kind === "body";
}
