// The names of keys in Redis: `sluice:{ip:203.0.113.10}:login`. The identity is in braces, so that a Cluster
// keeps all keys of one identity in one slot. Names are readable, no two different things share one, and
// secrets never appear in them: parts are escaped, and long ones and secrets are hashed.

import { createHash, createHmac } from "node:crypto";
import { SluiceError } from "../../base/errors.js";
import type { DepositPlace } from "../deposit-store.js";
import type { Counter } from "../store.js";

/** How keys are named. */
export interface KeyNaming {
  /** What all names start with, without braces. */
  readonly prefix: string;
  /** With what secrets are hashed; the same on all servers that share limits. */
  readonly keySecret: string | undefined;
  /** Whether a key is a secret. */
  readonly isSecret: (key: string) => boolean;
}

/** Keys longer than this are hashed: a name of 64 KiB would be stored whole with every counter. */
const KEY_LENGTH_MAX = 200;
const VERSIONS_MAX = 1_000;
const VERSION_CHARS = 12;
// Everything that ends a tag, separates parts or can't be typed; % because it marks an escape.
const UNSAFE_IN_TAG = /[%{}\s\p{Cc}\p{Cs}]/gu;
const UNSAFE_IN_PART = /[%{}:\s\p{Cc}\p{Cs}]/gu;
const IS_SAFE = /^[\w.:@/+=~-]+$/;
const SECRET_KINDS =
  /^((x[-_])?api[-_]?key|((access|refresh|id|auth)[-_]?)?token|secret|session([-_]?id)?|jwt|bearer|password|authorization|cookie):/i;

/** Whether a key says of itself that it is a secret: `apiKey:…`, `token:…`, `session:…`. */
export function looksSecret(key: string): boolean {
  return SECRET_KINDS.test(key);
}

/** What follows the tag in the names of a counter. */
export interface CounterSuffixes {
  /** The key of a log or of permits; every other counter is a part of the limiter's value. */
  readonly list: string;
  /** The key of the limiter's value, which also has the mark of a block. */
  readonly value: string;
  readonly open: string;
  readonly request: string;
  readonly note: string;
}

/** Names the keys of one store: a tag, and behind it a suffix. */
export class KeyNames {
  readonly #naming: KeyNaming;
  readonly #suffixes = new WeakMap<Counter, CounterSuffixes>();
  /** Digests of versions, so that each is computed once. */
  readonly #versions = new Map<string, string>();

  constructor(naming: KeyNaming) {
    this.#naming = naming;
  }

  /** The beginning of all names of an identity, its tag. Names with the same tag share a slot. */
  tag(key: string): string {
    const { prefix, isSecret } = this.#naming;
    if (isSecret(key)) return `${prefix}:{${this.#hashSecret(key)}}`;
    // `%h` is not an escape, so a hash is never the name of another key.
    if (key.length > KEY_LENGTH_MAX) return `${prefix}:{%h${digest(key)}}`;
    return `${prefix}:{${IS_SAFE.test(key) ? key : key.replace(UNSAFE_IN_TAG, toEscape)}}`;
  }

  /** What follows the tag for this counter. A scope has no colon, so no two suffixes are alike. */
  of(counter: Counter): CounterSuffixes {
    const known = this.#suffixes.get(counter);
    if (known !== undefined) return known;
    const value = toValue(counter.scope);
    const name = counter.part === 0 ? value : `${value}:${counter.part}`;
    const suffixes = {
      list: `${name}:list`,
      value,
      open: `${name}:open`,
      request: `${value}:request:`,
      note: `${name}:settled:`,
    };
    this.#suffixes.set(counter, suffixes);
    return suffixes;
  }

  /** The limiter's value. */
  value(tag: string, scope: string): string {
    return tag + toValue(scope);
  }

  /** What is known of the refusals of a key, and its level. A part's name is a number, so none is this one. */
  escalation(tag: string, scope: string): string {
    return `${tag}${toValue(scope)}:escalation`;
  }

  /** What a region holds of a limit of another region; see DepositStore. */
  deposits(tag: string, { scope, part, version }: DepositPlace): string {
    return `${tag}${toValue(scope)}:${part}:deposits:${this.#digestOf(version)}`;
  }

  /** The record of who is home; see FenceStore. */
  get home(): string {
    return `${this.#naming.prefix}:{%home}`;
  }

  /** What users of the store agree on; see RecordStore. It is not about an identity, so it has a tag of its own. */
  record(name: string): string {
    return `${this.tag(`record:${name}`)}:record`;
  }

  #digestOf(version: string): string {
    const known = this.#versions.get(version);
    if (known !== undefined) return known;
    if (this.#versions.size >= VERSIONS_MAX) this.#versions.clear();
    const made = digest(version).slice(0, VERSION_CHARS);
    this.#versions.set(version, made);
    return made;
  }

  request(tag: string, counter: Counter, requestId: string): string {
    return `${tag}${this.of(counter).request}${escapePart(requestId)}`;
  }

  #hashSecret(key: string): string {
    const { keySecret } = this.#naming;
    const kind = key.includes(":") ? key.slice(0, key.indexOf(":")) : "secret";
    if (keySecret === undefined) {
      throw new SluiceError("SLUICE_KEY_SECRET_MISSING", `a key that starts with "${kind}:"`);
    }
    const hash = createHmac("sha256", keySecret).update(toBytes(key)).digest("base64url");
    return `${kind.replace(UNSAFE_IN_TAG, toEscape)}:%s${hash}`;
  }
}

function toValue(scope: string): string {
  return `:${escapePart(scope)}`;
}

function escapePart(text: string): string {
  return text.length > KEY_LENGTH_MAX
    ? `%h${digest(text)}`
    : text.replace(UNSAFE_IN_PART, toEscape);
}

function toEscape(character: string): string {
  const hex = (character.codePointAt(0) as number).toString(16).toUpperCase();
  return hex.length <= 2 ? `%${hex.padStart(2, "0")}` : `%u${hex.padStart(4, "0")}`;
}

function digest(text: string): string {
  return createHash("sha256").update(toBytes(text)).digest("base64url");
}

/** As UTF-16: UTF-8 would write every lone surrogate alike. */
function toBytes(text: string): Buffer {
  return Buffer.from(text, "utf16le");
}
