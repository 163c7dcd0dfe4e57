// The keys that escalations of this process blocked, as far as the blocks may still be in force: a bounded number, the
// latest. Whether an operator or another node has ended one meanwhile, only the store knows.

import { BoundedMap } from "sluice";

/** The most keys that are remembered; beyond it those that were blocked first are forgotten. */
export const ESCALATED_KEYS_MAX = 1_000;

/** A key that an escalation blocked. */
export interface EscalatedKey {
  readonly rule: string;
  /** As it is counted: show `keyHash` unless keys in clear were asked for. */
  readonly key: string;
  readonly keyHash: string;
  readonly level: number;
  /** How long ago it was blocked. */
  readonly ageMs: number;
  /** How long the block still lasts, unless it was ended or made longer. */
  readonly blockedMs: number;
}

/** Remembers keys. */
export class EscalatedKeys {
  readonly #keys = new BoundedMap<string, Remembered>(ESCALATED_KEYS_MAX);
  readonly #readMs: () => number;
  readonly #hashKey: (key: string) => string;

  /** @param readMs - A monotonic reading, in milliseconds. */
  constructor(readMs: () => number, hashKey: (key: string) => string) {
    this.#readMs = readMs;
    this.#hashKey = hashKey;
  }

  /** An escalation blocked a key. */
  add({ rule, key, level, blockMs }: Block): void {
    const beganMs = this.#readMs();
    const name = toName(rule, key);
    // Again at the end, where the latest are.
    this.#keys.delete(name);
    this.#keys.set(name, { rule, key, level, beganMs, endsMs: beganMs + blockMs });
  }

  /** Forgets the keys of rules that are gone. */
  remove(ruleIds: readonly string[]): void {
    const gone = new Set(ruleIds);
    for (const [name, { rule }] of this.#keys) if (gone.has(rule)) this.#keys.delete(name);
  }

  /** The keys whose blocks have not run out, the latest first. */
  list(): readonly EscalatedKey[] {
    const nowMs = this.#readMs();
    const keys: EscalatedKey[] = [];
    for (const [name, { beganMs, endsMs, ...block }] of this.#keys) {
      if (endsMs <= nowMs) this.#keys.delete(name);
      else {
        const times = { ageMs: nowMs - beganMs, blockedMs: endsMs - nowMs };
        keys.push({ ...block, keyHash: this.#hashKey(block.key), ...times });
      }
    }
    return keys.reverse();
  }
}

/** The keys of several processes, each once, the latest first. */
export function mergeEscalated(lists: readonly (readonly EscalatedKey[])[]): EscalatedKey[] {
  const byName = new Map<string, EscalatedKey>();
  for (const each of lists.flat().sort((a, b) => a.ageMs - b.ageMs)) {
    const name = toName(each.rule, each.key);
    if (!byName.has(name)) byName.set(name, each);
  }
  return [...byName.values()].slice(0, ESCALATED_KEYS_MAX);
}

type Block = Pick<EscalatedKey, "rule" | "key" | "level"> & { readonly blockMs: number };

interface Remembered extends Pick<EscalatedKey, "rule" | "key" | "level"> {
  readonly beganMs: number;
  readonly endsMs: number;
}

/** The id of a rule has no line breaks. */
function toName(rule: string, key: string): string {
  return `${rule}\n${key}`;
}
