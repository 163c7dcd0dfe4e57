// Blocks of callers from a list: addresses and ranges of them, users, tenants and API keys. Looking a caller up costs the
// same however long the list is.

import { TIME_MS_MAX } from "../../../base/clock.js";
import { show } from "../../../base/errors.js";
import { type OptionSite, refuse } from "../../../base/shapes/code-options.js";
import type { Facts } from "../../facts.js";
import { toPrefixes } from "../../identity-keys/cidr.js";
import { type PrefixEntry, PrefixTable } from "../../identity-keys/prefix-table.js";
import { toValue } from "../../normalize/normalize-string.js";

/** A caller that is blocked. */
export interface CallerBlock {
  /** Why, in the operator's words. Not for clients. */
  readonly reason: string;
  /** When it ends, by the wall clock; Infinity if it does not. */
  readonly untilMs: number;
  /** Who is blocked, as the operator wrote it: `ip:203.0.113.0/24`. */
  readonly subject?: string | undefined;
  /** The list that the caller's address is in, if that is why. */
  readonly list?: "deny" | undefined;
}

/** Finds callers that are blocked. `callerBlocks` makes one from a list. */
export interface CallerBlocks {
  /** Whether a block may be about more than the address, so that callers have to be identified. */
  readonly needsIdentity: boolean;
  /**
   * The block that holds for a caller at a time of the wall clock; undefined without a block. Called with what a
   * request shows and, if `needsIdentity`, again when the caller is known. Must be quick, and must not throw.
   */
  find(facts: Facts, wallMs: number): CallerBlock | undefined;
}

/** Callers that are blocked. */
export interface BlockedCallers {
  /**
   * Who is blocked: `ip:203.0.113.10`, `ip:203.0.113.0/24`, `ip:2001:db8::/32`, `user:42`, `tenant:acme` or
   * `apiKey:` with what the fact of that name holds; or a list of these.
   */
  readonly subject: string | readonly string[];
  /** Why, for operators: it is never sent to clients. */
  readonly reason: string;
  /** When the block ends, in milliseconds since 1970 by the wall clock. Default: it does not end. */
  readonly endsAtMs?: number | undefined;
}

/** The most subjects of one list. */
const SUBJECTS_MAX = 1_000_000;
const SITE: OptionSite = { name: "callerBlocks", code: "SLUICE_OPTION_INVALID" };
const KINDS = ["apiKey", "user", "tenant"] as const;
type Kind = (typeof KINDS)[number];

/**
 * Finds blocked callers by a list, for `policy.blockCallers`. An address that lies in several blocked ranges is blocked
 * until the last of them ends.
 *
 * @throws SluiceError `SLUICE_OPTION_INVALID` that says which block can't be used and what was seen.
 */
export function callerBlocks(blocks: readonly BlockedCallers[]): CallerBlocks {
  if (!Array.isArray(blocks)) refuse(SITE, `needs a list of blocks, got ${show(blocks)}`);
  const collected: Collected = { prefixes: [], byKind: new Map(), count: 0 };
  for (const [i, block] of blocks.entries()) readBlock(block, `blocks[${i}]`, collected);
  return new ListedBlocks(collected);
}

class ListedBlocks implements CallerBlocks {
  readonly needsIdentity: boolean;
  readonly #addresses: PrefixTable<CallerBlock> | undefined;
  readonly #byKind: readonly (readonly [Kind, ReadonlyMap<string, CallerBlock>])[];

  constructor({ prefixes, byKind }: Collected) {
    this.#addresses = prefixes.length === 0 ? undefined : new PrefixTable(prefixes, later);
    this.#byKind = KINDS.flatMap((kind) => {
      const blocks = byKind.get(kind);
      return blocks === undefined ? [] : [[kind, blocks] as const];
    });
    this.needsIdentity = this.#byKind.length > 0;
  }

  find(facts: Facts, wallMs: number): CallerBlock | undefined {
    const { ip } = facts;
    const block = ip === undefined ? undefined : this.#addresses?.find(ip, longestInForce, wallMs);
    if (block !== undefined) return block;
    for (const [kind, blocks] of this.#byKind) {
      const value = toValue(facts[kind]);
      const found = value === undefined ? undefined : blocks.get(value);
      if (found !== undefined && found.untilMs > wallMs) return found;
    }
    return undefined;
  }
}

function longestInForce(
  best: CallerBlock | undefined,
  block: CallerBlock,
  wallMs: number,
): CallerBlock | undefined {
  if (block.untilMs <= wallMs) return best;
  return best === undefined ? block : later(best, block);
}

/** The block that ends later; of equals the first. */
function later(a: CallerBlock, b: CallerBlock): CallerBlock {
  return b.untilMs > a.untilMs ? b : a;
}

interface Collected {
  readonly prefixes: PrefixEntry<CallerBlock>[];
  readonly byKind: Map<Kind, Map<string, CallerBlock>>;
  count: number;
}

function readBlock(block: BlockedCallers, where: string, collected: Collected): void {
  const { subject, reason, endsAtMs: untilMs = Number.POSITIVE_INFINITY } = block;
  if (typeof reason !== "string")
    refuse(SITE, `${where}.reason must be a string, got ${show(reason)}`);
  if (!isEnd(untilMs)) {
    refuse(SITE, `${where}.endsAtMs must be milliseconds since 1970, got ${show(untilMs)}`);
  }
  for (const each of Array.isArray(subject) ? subject : [subject]) {
    collected.count += 1;
    if (collected.count > SUBJECTS_MAX)
      refuse(SITE, `at most ${SUBJECTS_MAX} subjects can be blocked`);
    readSubject({ subject: each, reason, untilMs }, `${where}.subject`, collected);
  }
}

function readSubject(block: CallerBlock, where: string, { prefixes, byKind }: Collected): void {
  const { subject } = block;
  const [, kind, written] = /^(\w+):(.*)$/s.exec(subject ?? "") ?? [];
  if (kind === "ip") {
    const site = { name: `${SITE.name}: ${where}`, code: SITE.code };
    for (const prefix of toPrefixes(written.trim(), site)) prefixes.push({ prefix, value: block });
    return;
  }
  const known = KINDS.find((each) => each === kind);
  const value = known === undefined ? undefined : toValue(written);
  if (known === undefined || value === undefined) {
    const what = "must be ip:, user:, tenant: or apiKey: and a value";
    refuse(SITE, `${where} ${what}, got ${show(subject)}`);
  }
  const blocks = byKind.get(known) ?? new Map<string, CallerBlock>();
  byKind.set(known, blocks);
  const before = blocks.get(value);
  blocks.set(value, before === undefined ? block : later(before, block));
}

function isEnd(endsAtMs: number): boolean {
  if (endsAtMs === Number.POSITIVE_INFINITY) return true;
  return Number.isInteger(endsAtMs) && endsAtMs >= 0 && endsAtMs <= TIME_MS_MAX;
}
