// How secrets are written that the control plane hands out: API keys and access tokens.
//
//     slk_7Hq2mZpVw9Tb_x4…(32)…Qe_1A2b3C
//     kind  id          secret      checksum
//
// The kind makes them recognisable to people and secret scanners, the checksum catches typos without a look-up, the
// id finds the entry, and only a hash of the whole is kept. A secret is in clear in the answer that creates it, and
// nowhere else.

import { createHash, timingSafeEqual, webcrypto } from "node:crypto";
import { crc32 } from "node:zlib";

/** What a secret is for, by its prefix. */
export const SECRET_PREFIXES = { apiKey: "slk", accessToken: "slt" } as const;

/** What a secret is for. */
export type SecretUse = keyof typeof SECRET_PREFIXES;

/** A secret that was just made. */
export interface NewSecret {
  /** What finds its entry; not secret. */
  readonly id: string;
  /** The whole; to be shown once. */
  readonly secret: string;
  /** What is kept. */
  readonly hash: string;
}

/** A secret as a client sent it, well formed. */
export interface ReadSecret {
  readonly id: string;
  readonly hash: string;
}

/** Fills the array with random bytes. */
export type FillRandom = (bytes: Uint8Array) => void;

/** Random bytes of the system. */
export const fillFromSystem: FillRandom = (bytes) => {
  webcrypto.getRandomValues(bytes);
};

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const ID_LENGTH = 12;
const SECRET_LENGTH = 32;
const CHECKSUM_LENGTH = 6;
/** The largest multiple of 62 in a byte: bytes beyond it would make some letters likelier than others. */
const FAIR_BYTES = 248;

const SHAPE = new RegExp(
  `^(sl[kt])_([0-9A-Za-z]{${ID_LENGTH}})_[0-9A-Za-z]{${SECRET_LENGTH}}_([0-9A-Za-z]{${CHECKSUM_LENGTH}})$`,
);

/** Makes a secret. */
export function makeSecret(use: SecretUse, fillRandom: FillRandom): NewSecret {
  const id = drawLetters(ID_LENGTH, fillRandom);
  const body = `${SECRET_PREFIXES[use]}_${id}_${drawLetters(SECRET_LENGTH, fillRandom)}`;
  const secret = `${body}_${checksumOf(body)}`;
  return { id, secret, hash: hashSecret(secret) };
}

/** Reads a secret of that use; undefined if it is malformed, mistyped or of another use. */
export function readSecret(use: SecretUse, text: string): ReadSecret | undefined {
  const [, prefix, id, checksum] = SHAPE.exec(text) ?? [];
  if (prefix !== SECRET_PREFIXES[use] || id === undefined) return undefined;
  const body = text.slice(0, -CHECKSUM_LENGTH - 1);
  return checksum === checksumOf(body) ? { id, hash: hashSecret(text) } : undefined;
}

/** What is kept of a secret. It has 190 random bits, so a fast hash can't be reversed by guessing. */
export function hashSecret(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}

/** Compares hashes in a time that says nothing about where they differ. */
export function isSameHash(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));
}

function checksumOf(body: string): string {
  let rest = crc32(body);
  let letters = "";
  for (let i = 0; i < CHECKSUM_LENGTH; i++) {
    letters = ALPHABET[rest % ALPHABET.length] + letters;
    rest = Math.floor(rest / ALPHABET.length);
  }
  return letters;
}

/** Random letters and digits, each as likely as the others. */
export function drawLetters(length: number, fillRandom: FillRandom): string {
  const bytes = new Uint8Array(length * 2);
  let letters = "";
  while (letters.length < length) {
    fillRandom(bytes);
    for (const byte of bytes) {
      if (byte < FAIR_BYTES && letters.length < length) letters += ALPHABET[byte % ALPHABET.length];
    }
  }
  return letters;
}
