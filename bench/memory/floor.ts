// Where the time of memory/rlf's loop goes: the same loop, cut off after the key, the hash, the look-up and the
// clock, and whole. Each step contains the ones before it, so the differences are what each adds. It uses
// internals of the library that are not part of its API.

import { createLimiter, systemClock } from "sluice";
import type { Bench } from "../bench.js";
import { generousBucket } from "../contenders.js";
import { type Contender, interleave, type Run, spreadOf } from "../harness.js";
import { RandomIds, toKey } from "../random.js";

const KEYS = 100_000;
const KEYS_MAX = 1_000_000;
const OPERATIONS = 500_000;

/** The parts of the library's internals that are timed on their own. */
interface Hash {
  low: number;
  high: number;
  hash(text: string): void;
}
interface Table {
  find(low: number, high: number): number;
  claim(low: number, high: number, id: number, nowMs: number): number;
}
interface Internals {
  KeyHash: new (seed: { low: number; high: number }) => Hash;
  Table: new (
    shape: { keysMax: number; stateDoubles: number },
    owner: { share(): number; forget(): void },
  ) => Table;
}

export const floor: Bench<readonly Run[]> = {
  id: "memory/floor",
  unit: "ns",
  parts: ["all"],
  runPart: async () => interleave(await steps(), { operations: OPERATIONS }),
  conclude: ([runs]) => (runs as readonly Run[]).map((run, i, all) => toFinding(run, i, all)),
};

async function steps(): Promise<Contender[]> {
  const { KeyHash, Table } = await loadInternals();
  const hash = new KeyHash({ low: 0x12345678, high: 0x23456789 });
  const table = new Table(
    { keysMax: KEYS_MAX, stateDoubles: 1 },
    { share: () => 0, forget: () => undefined },
  );
  for (let id = 0; id < KEYS; id++) {
    hash.hash(toKey(id));
    table.claim(hash.low, hash.high, 1, 0);
  }
  return [
    keyStep(),
    hashStep(hash),
    findStep(hash, table),
    clockStep(hash, table),
    ...wholeSteps(),
  ];
}

function keyStep(): Contender {
  const ids = new RandomIds(KEYS);
  const run = (operations: number) => {
    let admitted = 0;
    for (let i = 0; i < operations; i++) {
      const key = toKey(ids.next());
      // Looked at, so that the compiler can't leave the string unmade.
      if (key.charCodeAt(key.length - 1) > 0) admitted++;
    }
    return admitted;
  };
  return { name: "random id and key", run };
}

function hashStep(hash: Hash): Contender {
  const ids = new RandomIds(KEYS);
  const run = (operations: number) => {
    let admitted = 0;
    for (let i = 0; i < operations; i++) {
      hash.hash(toKey(ids.next()));
      if (hash.low !== hash.high) admitted++;
    }
    return admitted;
  };
  return { name: "+ hash", run };
}

function findStep(hash: Hash, table: Table): Contender {
  const ids = new RandomIds(KEYS);
  const run = (operations: number) => {
    let admitted = 0;
    for (let i = 0; i < operations; i++) {
      hash.hash(toKey(ids.next()));
      if (table.find(hash.low, hash.high) >= 0) admitted++;
    }
    return admitted;
  };
  return { name: "+ look-up in the table", run };
}

function clockStep(hash: Hash, table: Table): Contender {
  const ids = new RandomIds(KEYS);
  const run = (operations: number) => {
    let admitted = 0;
    for (let i = 0; i < operations; i++) {
      const nowMs = systemClock.now();
      hash.hash(toKey(ids.next()));
      if (table.find(hash.low, hash.high) >= 0 && nowMs > 0) admitted++;
    }
    return admitted;
  };
  return { name: "+ clock", run };
}

/** The public call, once with a stopped clock and once with the default one. */
function wholeSteps(): Contender[] {
  const nowMs = systemClock.now();
  return [
    { ...wholeStep({ now: () => nowMs }), name: "whole check, clock standing still" },
    { ...wholeStep(systemClock), name: "whole check" },
  ];
}

function wholeStep(clock: { now(): number }): Omit<Contender, "name"> {
  const limiter = createLimiter({ limit: generousBucket, clock });
  for (let id = 0; id < KEYS; id++) limiter.check(toKey(id));
  const ids = new RandomIds(KEYS);
  const run = (operations: number) => {
    let admitted = 0;
    for (let i = 0; i < operations; i++) {
      if (limiter.check(toKey(ids.next())).allowed) admitted++;
    }
    return admitted;
  };
  return { run };
}

async function loadInternals(): Promise<Internals> {
  const folder = new URL("stores/memory/", import.meta.resolve("sluice"));
  const load = (file: string) => import(new URL(file, folder).href);
  const { KeyHash } = await load("hash.js");
  const { Table } = await load("table/table.js");
  return { KeyHash, Table };
}

function toFinding(run: Run, i: number, all: readonly Run[]) {
  const whole = all[all.length - 1] as Run;
  const ns = 1e9 / run.medianPerSec;
  const nsOfRounds = run.perSec.map((perSec) => 1e9 / perSec);
  const added = i === 0 ? ns : ns - 1e9 / (all[i - 1] as Run).medianPerSec;
  return {
    subject: run.name,
    reference: whole.name,
    subjectPerSec: run.medianPerSec,
    referencePerSec: whole.medianPerSec,
    ratio: run.medianPerSec / whole.medianPerSec,
    value: ns,
    spread: spreadOf(nsOfRounds),
    note: run.name.startsWith("whole") ? "" : `adds ${added.toFixed(0)} ns`,
  };
}
