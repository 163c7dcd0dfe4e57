// Resolving API keys: the contract between identity and whatever knows the keys, such as a database. Without a
// resolver an API key is only a hash to count by; with one it stands for a tenant, a tier, a plan and attributes.

import { SluiceError } from "../../../base/errors.js";
import { andThen, isThenable, type MaybePromise } from "../../../base/maybe-promise.js";
import { CallerRefusal } from "../../../rules/policy/policy-request/caller-refusal.js";
import type { ResolvedKey } from "./resolved-key.js";
import { FACT_LENGTH_MAX } from "./resolved-key.js";
import { SharedKey } from "./shared-key.js";

/**
 * What a resolver says about a key. Undefined: there is no such key, or it has expired or was revoked. `"unchecked"`: it
 * can't be checked now, and the request is refused. `"anonymous"`: it can't be checked now, and the request continues
 * as if it had no key.
 */
export type KeyAnswer = ResolvedKey | SharedKey | "unchecked" | "anonymous" | undefined;

/** Resolves API keys. `cachedKeyResolver` makes one out of a look-up in a database. */
export interface KeyResolver {
  /**
   * What a key stands for: immediately where it is known, otherwise a promise. It gets every string that a client can
   * send, up to {@link SENT_KEY_LENGTH_MAX} characters. If it throws or rejects, the request fails.
   */
  resolve(key: string): KeyAnswer | Promise<KeyAnswer>;
}

/** A key that is known, alone or with others like it. */
export type FoundKey = ResolvedKey | SharedKey;

/** What happens to a request whose API key is unknown. */
export type UnknownKeys = "refuse" | "anonymous";

/** Instead of a key, for a request with several different ones: it is unknown which of them is meant. */
export const SEVERAL_KEYS = "";

/** A longer key is unknown, and no resolver is asked. */
export const SENT_KEY_LENGTH_MAX = 4_096;

/** When a client should try again whose key could not be checked. */
const UNCHECKED_RETRY_MS = 1_000;

/** The refusal of a key that is unknown. */
const UNKNOWN_KEY: CallerRefusal = new CallerRefusal("unknown-api-key", Number.POSITIVE_INFINITY);

/** The refusal of a key that can't be checked now. */
const UNCHECKED_KEY: CallerRefusal = new CallerRefusal("unchecked-api-key", UNCHECKED_RETRY_MS);

/**
 * What the key of a request stands for. Undefined if the request continues as if it had none; a refusal if it may not go
 * on.
 */
export function resolveSentKey(
  keyResolver: KeyResolver,
  unknownKeys: UnknownKeys,
  sentKey: string,
): MaybePromise<ResolvedKey | CallerRefusal | undefined> {
  return andThen(findSentKey(keyResolver, unknownKeys, sentKey), (found) =>
    found instanceof SharedKey ? found.withId(found.idOf(sentKey)) : found,
  );
}

/** The same, as the resolver has it. */
export function findSentKey(
  keyResolver: KeyResolver,
  unknownKeys: UnknownKeys,
  sentKey: string,
): MaybePromise<FoundKey | CallerRefusal | undefined> {
  if (sentKey === SEVERAL_KEYS || sentKey.length > SENT_KEY_LENGTH_MAX) {
    return toFinding(undefined, unknownKeys);
  }
  const answer = keyResolver.resolve(sentKey);
  return isThenable(answer)
    ? Promise.resolve(answer).then((known) => toFinding(known, unknownKeys))
    : toFinding(answer, unknownKeys);
}

function toFinding(
  answer: KeyAnswer,
  unknownKeys: UnknownKeys,
): FoundKey | CallerRefusal | undefined {
  if (answer instanceof SharedKey) return answer;
  if (answer === undefined) return unknownKeys === "refuse" ? UNKNOWN_KEY : undefined;
  if (answer === "unchecked") return UNCHECKED_KEY;
  return answer === "anonymous" ? undefined : mustBeKey(answer);
}

/** The key of an answer, checked: resolvers are written by users. Of another value only its type is shown. */
function mustBeKey(answer: unknown): ResolvedKey {
  if (typeof answer === "object" && answer !== null) {
    const { id } = answer as ResolvedKey;
    if (typeof id === "string" && id !== "" && id.length <= FACT_LENGTH_MAX) {
      return answer as ResolvedKey;
    }
  }
  const wanted = "an object with an id of 1 to 256 characters, or undefined";
  const seen = `identity.keyResolver must answer ${wanted}; got ${typeof answer}`;
  throw new SluiceError("SLUICE_OPTION_INVALID", seen);
}
