// Checks the entries of one account, one after the other: the chain of hashes, the sums, what each kind may do, and that
// whatever is settled was open. It keeps what is open and the entry before, however many entries there are.

import {
  type EntryKind,
  type EntryValues,
  hashOfText,
  hashOfValues,
  isEntryKind,
} from "../accounts/entry.js";
import type { CheckName } from "./report.js";

/** What an account row says that its entries have to lead to. */
export interface AccountEnd {
  readonly balance: number;
  readonly state: string;
  readonly sequence: number;
  readonly hash: string;
}

/** A reservation or lease that the database lists as open. */
export interface ListedHold {
  readonly sequence: number;
  readonly kind: string;
  readonly amount: number;
}

/**
 * An entry that settles one which is not open. That is right for a use that is refunded and for a reservation that had
 * expired when it was settled, which only the database can say.
 */
export interface LateSettlement {
  readonly sequence: number;
  readonly settles: number;
  readonly amount: number;
}

/** Is called with each thing that is wrong. */
export type Say = (check: CheckName, sequence: number | undefined, problem: string) => void;

interface Open {
  readonly kind: EntryKind;
  readonly units: number;
}

/** What each kind may settle. */
const SETTLES: Readonly<Partial<Record<EntryKind, readonly EntryKind[]>>> = {
  commit: ["reserve", "use"],
  cancel: ["reserve", "use"],
  expire: ["reserve", "grant"],
  return: ["lease"],
};

/** Kinds that may take a balance below zero. */
const MAY_OVERDRAW: ReadonlySet<string> = new Set(["commit", "adjust"]);

/** The entries of one account so far. */
export class AccountCheck {
  readonly #say: Say;
  /** Reservations, leases and grants that are not settled, by sequence number. */
  readonly #open = new Map<number, Open>();
  /** To be looked up in the database, which this has no access to. */
  readonly lateSettlements: LateSettlement[] = [];
  #sequence = 0;
  #sum = 0;
  #balance = 0;
  #hash = "";
  #last: EntryValues | undefined;

  constructor(say: Say) {
    this.#say = say;
  }

  /** The sequence number of the last entry; 0 before the first. */
  get sequence(): number {
    return this.#sequence;
  }

  /**
   * Checks the next entry.
   *
   * @param text - Its JSON, if the database has written it.
   */
  add(values: EntryValues, text?: string): void {
    const [, sequence, kind, amount, balance] = values;
    if (sequence !== this.#sequence + 1) this.#sayGap(sequence);
    else this.#checkLink(values);
    if (isEntryKind(kind)) this.#checkKind(kind, values);
    else this.#say("kind", sequence, `is of an unknown kind, ${JSON.stringify(kind)}`);
    this.#sum += amount;
    this.#sequence = sequence;
    this.#balance = balance;
    this.#hash = text === undefined ? hashOfValues(values) : hashOfText(text);
    this.#last = values;
  }

  /** Whether an account row and its holds are what the entries lead to; says what is not. */
  end(account: AccountEnd, holds: readonly ListedHold[], say: Say = this.#say): void {
    const { sequence, balance, hash } = account;
    if (sequence !== this.#sequence) {
      const seen = `the account has ${sequence} entries, and the last one found is ${this.#sequence}`;
      say("sequence", undefined, seen);
    } else if (!this.#hasHash(hash)) {
      say("chain", sequence, "the account does not carry the hash of its last entry");
    }
    if (balance !== this.#sum)
      say(
        "balance",
        undefined,
        `the balance is ${balance}, and the entries add up to ${this.#sum}`,
      );
    const held = toHeld(account.state);
    if (held !== balance && sequence > 0)
      say("balance", undefined, `the balance is ${balance}, and its grants hold ${held}`);
    this.#checkHolds(holds, say);
  }

  /** Whether a hash is that of the last entry. A database may escape a character in another way than the writer did. */
  #hasHash(hash: string): boolean {
    if (hash !== this.#hash && this.#last !== undefined) this.#hash = hashOfValues(this.#last);
    return hash === this.#hash;
  }

  #sayGap(sequence: number): void {
    const [from, to] = [this.#sequence + 1, sequence - 1];
    const missing = from === to ? `entry ${from} is` : `entries ${from} to ${to} are`;
    this.#say("sequence", sequence, `${missing} missing before it`);
  }

  #checkLink(values: EntryValues): void {
    const [, sequence, , amount, balance] = values;
    const previous = sequence - 1;
    if (!this.#hasHash(values[10]))
      this.#say(
        "chain",
        sequence,
        previous === 0
          ? "is the first and carries the hash of another entry"
          : `does not carry the hash of entry ${previous}: one of the two was altered`,
      );
    if (balance !== this.#balance + amount)
      this.#say(
        "balance",
        sequence,
        `has the balance ${balance}; ${this.#balance} and ${amount} make ${this.#balance + amount}`,
      );
  }

  #checkKind(kind: EntryKind, values: EntryValues): void {
    const [, sequence, , amount, balance, , settles] = values;
    if (amount < 0 && balance < 0 && !MAY_OVERDRAW.has(kind))
      this.#say("quota", sequence, `is a ${kind} that took the balance to ${balance}`);
    const settled = this.#settle(kind, values);
    const problem = wrongAmount(kind, amount, settled?.units);
    if (problem !== undefined) this.#say("amount", sequence, problem);
    if (settles === null && (kind === "reserve" || kind === "lease" || kind === "grant"))
      this.#open.set(sequence, { kind, units: -amount });
  }

  /** What an entry settles, if that is known here. */
  #settle(kind: EntryKind, values: EntryValues): Open | undefined {
    const [, sequence, , , , , settles] = values;
    const may = SETTLES[kind];
    if (settles === null) {
      if (may !== undefined && kind !== "expire")
        this.#say("settlement", sequence, `is a ${kind} that does not say which entry it settles`);
      return undefined;
    }
    const open = this.#open.get(settles);
    if (may === undefined || (open !== undefined && !may.includes(open.kind))) {
      const what = open === undefined ? `entry ${settles}` : `a ${open.kind} (entry ${settles})`;
      this.#say("settlement", sequence, `is a ${kind} and can't settle ${what}`);
      return undefined;
    }
    this.#checkKey(kind, values);
    this.#open.delete(settles);
    if (open === undefined) this.#noteLate(kind, values);
    return open;
  }

  /** The key is what makes a settlement happen once. */
  #checkKey(kind: EntryKind, [, sequence, , , , key, settles]: EntryValues): void {
    const due = `${kind === "expire" ? "expire" : "settle"}:${settles}`;
    if (key === due) return;
    const seen = `has the idempotency key ${JSON.stringify(key)}, not ${due}`;
    this.#say("settlement", sequence, seen);
  }

  /** Notes an entry that settles one which is not open. */
  #noteLate(kind: EntryKind, [, sequence, , amount, , , settles]: EntryValues): void {
    if (settles === null) return;
    const mayBeLate = (kind === "cancel" || kind === "commit") && settles < sequence;
    if (mayBeLate) {
      this.lateSettlements.push({ sequence, settles, amount });
      return;
    }
    const seen = `settles entry ${settles}, which is not open at that point`;
    this.#say("settlement", sequence, seen);
  }

  #checkHolds(holds: readonly ListedHold[], say: Say): void {
    const listed = new Set<number>();
    for (const { sequence, kind, amount } of holds) {
      listed.add(sequence);
      const open = this.#open.get(sequence);
      if (open === undefined || open.kind !== kind)
        say("hold", sequence, `is listed as an open ${kind}, and is not one`);
      else if (open.units !== amount)
        say("hold", sequence, `is listed with ${amount} units, and holds ${open.units}`);
    }
    for (const [sequence, { kind }] of this.#open) {
      if (kind !== "grant" && !listed.has(sequence))
        say("hold", sequence, `is a ${kind} that is neither settled nor listed as open`);
    }
  }
}

/** What is wrong with the amount of an entry; undefined if nothing is. */
function wrongAmount(
  kind: EntryKind,
  amount: number,
  settled: number | undefined,
): string | undefined {
  const isTaking = kind === "use" || kind === "reserve" || kind === "lease";
  const endsGrant = kind === "expire" && (settled === undefined || settled <= 0);
  if ((isTaking || endsGrant) && amount > 0) return `is a ${kind} that adds ${amount} units`;
  const isGiving = kind === "grant" || kind === "cancel" || kind === "return";
  if ((isGiving || (kind === "expire" && !endsGrant)) && amount < 0)
    return `is a ${kind} that takes ${-amount} units`;
  if (settled === undefined || endsGrant || amount <= settled) return undefined;
  return `gives ${amount} units back, of ${settled} that were held`;
}

/** What the grants of an account hold, less its debt. NaN if that can't be read. */
function toHeld(state: string): number {
  try {
    const { grants, debt } = JSON.parse(state) as {
      grants: readonly { left: number }[];
      debt: number;
    };
    return grants.reduce((sum, { left }) => sum + left, 0) - debt;
  } catch {
    return Number.NaN;
  }
}
