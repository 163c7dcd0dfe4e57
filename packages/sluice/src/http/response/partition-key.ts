// The partition key says which of a rule's counters a header is about: a client can see whether two responses are
// about the same counter, and learns nothing else.

import { createHmac } from "node:crypto";
import type { ShownRule } from "./limit-description.js";

/** 96 bits distinguish counters and fill 16 characters without padding. */
const BYTES = 12;

/** Writes partition keys under a secret. */
export class PartitionKey {
  readonly #secret: string;

  constructor(secret: string) {
    this.#secret = secret;
  }

  /** `;pk=:…:`, the same for the same rule and key, on every node that has the secret. */
  parameterOf({ rule, key }: { rule: ShownRule; key: string }): string {
    const digest = createHmac("sha256", this.#secret)
      .update(`${rule.definition.id}\n${key}`)
      .digest();
    return `;pk=:${digest.toString("base64", 0, BYTES)}:`;
  }
}
