// Challenges as strings that only this service can have made: when they expire, what has to be solved, and for which key
// under which rule a solution counts. Nothing is remembered about a challenge that was issued; its signature says it all.
// The key and the rule are in it only as a keyed hash.

import { createHmac, timingSafeEqual } from "node:crypto";

/** What has to be solved: a hash with so many zero bits in front, or whatever a provider asks for. */
export type Task = { readonly kind: "work"; readonly bits: number } | { readonly kind: "provider" };

/** What a solution counts for. */
export interface Binding {
  /** The id of the rule. */
  readonly rule: string;
  /** The key as it is counted. */
  readonly key: string;
  /** Where passes are remembered: one is good once there. */
  readonly place: string;
}

/** A challenge that this service has issued. */
export interface Challenge {
  /** By the wall clock. */
  readonly expiresAtMs: number;
  readonly task: Task;
  /** No other challenge has it. */
  readonly id: string;
  /** Whether it was issued for this key under this rule. */
  isFor(binding: Binding): boolean;
}

/** `<expiry>.<task>.<id>.<binding>.<signature>`; a pass has a solution after that. */
const PARTS = 5;
const TOKEN_LENGTH_MAX = 160;
const BINDING_LENGTH = 22;
const SIGNATURE_LENGTH = 32;
const PROVIDER = "p";
const BASE = 36;

/** Signs and reads challenges. */
export class ChallengeTokens {
  readonly #secrets: readonly string[];

  /** @param secrets - The first signs; all of them are accepted, so that a secret can be replaced. */
  constructor(secrets: readonly string[]) {
    this.#secrets = secrets;
  }

  /** A challenge as it is sent. */
  sign(challenge: Omit<Challenge, "isFor">, binding: Binding): string {
    const { expiresAtMs, task, id } = challenge;
    const [secret] = this.#secrets;
    const said = task.kind === "work" ? `${task.bits}` : PROVIDER;
    const body = `${expiresAtMs.toString(BASE)}.${said}.${id}.${toBinding(secret, binding)}`;
    return `${body}.${toSignature(secret, body)}`;
  }

  /** The challenge that a token is; undefined if this service did not issue it. */
  read(token: string): Challenge | undefined {
    if (token.length > TOKEN_LENGTH_MAX) return undefined;
    const [expiry, said, id, bound, signature, ...more] = token.split(".");
    if (signature === undefined || more.length > 0) return undefined;
    const body = token.slice(0, token.length - signature.length - 1);
    const secret = this.#secrets.find((each) => isSame(signature, toSignature(each, body)));
    if (secret === undefined) return undefined;
    const task: Task =
      said === PROVIDER ? { kind: "provider" } : { kind: "work", bits: Number(said) };
    return {
      expiresAtMs: Number.parseInt(expiry, BASE),
      task,
      id,
      isFor: (binding) => isSame(bound, toBinding(secret, binding)),
    };
  }
}

/** The token and the solution that a pass consists of; undefined if it is not one. */
export function splitPass(
  pass: string,
): { readonly token: string; readonly solution: string } | undefined {
  let end = -1;
  for (let part = 0; part < PARTS; part++) {
    end = pass.indexOf(".", end + 1);
    if (end < 0) return undefined;
  }
  return { token: pass.slice(0, end), solution: pass.slice(end + 1) };
}

// What is signed for one purpose must not pass for another, so each begins with its own.
function toBinding(secret: string, { rule, key, place }: Binding): string {
  // Ids of rules and names of regions have no line breaks.
  return hmac(secret, `sluice-challenge-for\n${place}\n${rule}\n${key}`).slice(0, BINDING_LENGTH);
}

function toSignature(secret: string, body: string): string {
  return hmac(secret, `sluice-challenge\n${body}`).slice(0, SIGNATURE_LENGTH);
}

function hmac(secret: string, text: string): string {
  return createHmac("sha256", secret).update(text, "utf8").digest("base64url");
}

function isSame(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given, "utf8"), Buffer.from(expected, "utf8")];
  return a.length === b.length && timingSafeEqual(a, b);
}
