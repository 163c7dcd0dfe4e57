// The limit of an algorithm as text to take along: a rule for a file, and TypeScript.

import { type Algorithm, optionsOf } from "./algorithms.js";
import { nameOfLength, type Settings } from "./settings.js";

/** A file of rules with this limit, in YAML. */
export function toRule(algorithm: Algorithm, settings: Settings): string {
  const { keying, cost } = settings;
  const lines = [
    "version: 1",
    "rules:",
    `  - id: ${toId(algorithm)}`,
    `    key: ${keying === "shared" ? "global" : "ip"}`,
    `    limit: ${toFlow({ [algorithm]: optionsOf(algorithm, settings) })}`,
  ];
  if (cost > 1 && algorithm !== "concurrency") lines.push(`    cost: ${cost}`);
  return `${lines.join("\n")}\n`;
}

/** A program with this limit, in TypeScript. */
export function toCode(algorithm: Algorithm, settings: Settings): string {
  const options = toLiteral(optionsOf(algorithm, settings));
  return [
    `import { createLimiter, ${algorithm} } from "sluice";`,
    "",
    `const limiter = createLimiter({`,
    `  limit: ${algorithm}(${options}),`,
    "});",
    "",
    ...toUse(algorithm, settings),
    "",
  ].join("\n");
}

function toUse(algorithm: Algorithm, { cost, keying }: Settings): string[] {
  const key = keying === "shared" ? '"all"' : '"203.0.113.7"';
  if (algorithm === "concurrency")
    return [
      `const permit = limiter.acquire(${key});`,
      "if (permit.allowed) {",
      "  try {",
      "    // Do the work.",
      "  } finally {",
      "    permit.release();",
      "  }",
      "}",
    ];
  const options = cost > 1 ? `, { cost: ${cost} }` : "";
  const names =
    algorithm === "leakyBucket" ? "allowed, delayMs, retryAfterMs" : "allowed, retryAfterMs";
  return [`const { ${names} } = limiter.check(${key}${options});`, `console.log({ ${names} });`];
}

/** `sliding-window-log`. */
function toId(algorithm: Algorithm): string {
  return algorithm.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** YAML in one line. Lengths of time are written as people do: `1m`. */
function toFlow(value: unknown, name = ""): string {
  if (typeof value !== "object" || value === null)
    return (name.endsWith("Ms") ? nameOfLength(value as number) : undefined) ?? `${value}`;
  const fields = Object.entries(value).map(([key, each]) => `${key}: ${toFlow(each, key)}`);
  return `{ ${fields.join(", ")} }`;
}

function toLiteral(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value !== "object" || value === null)
    return `${value}`.replace(/\B(?<!\.\d*)(?=(?:\d{3})+(?!\d))/g, "_");
  const fields = Object.entries(value).map(([key, each]) => `${key}: ${toLiteral(each)}`);
  return `{ ${fields.join(", ")} }`;
}
