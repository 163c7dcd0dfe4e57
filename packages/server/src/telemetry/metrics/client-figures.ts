// What telemetry knows about clients beyond their decisions: the MMDB files that say where they are, and challenges.

import { wallMs } from "../../base/clock.js";
import { Counts } from "./counts.js";

/** An MMDB file, as it is in force. */
export interface MmdbFileState {
  /** Its name, without its folder. */
  readonly file: string;
  /** When its maker built it, by the wall clock. */
  readonly builtAtMs: number;
  /** How many networks it has. */
  readonly entries: number;
}

/** Figures about clients. */
export class ClientFigures {
  /** By rule and outcome. */
  readonly challenges = new Counts(["rule", "outcome"]);
  readonly #wallMs: () => number;
  #readMmdb: () => readonly MmdbFileState[] = () => [];

  /** @param clock - The wall clock, in milliseconds since 1970. Default: the system's. */
  constructor(clock: () => number = wallMs) {
    this.#wallMs = clock;
  }

  /** The MMDB files, whose figures metrics show from now on. */
  watchMmdb(read: () => readonly MmdbFileState[]): void {
    this.#readMmdb = read;
  }

  /** MMDB files with their ages, never negative. */
  mmdb(): readonly (MmdbFileState & { readonly ageMs: number })[] {
    const nowMs = this.#wallMs();
    return this.#readMmdb().map(({ file, builtAtMs, entries }) => ({
      file,
      builtAtMs,
      entries,
      ageMs: Math.max(0, nowMs - builtAtMs),
    }));
  }
}
