// One MMDB file: read once, whole, and asked by address. Databases of different makers name the same things differently;
// what is known is read from each of their forms.

import { readFileSync, type Stats, statSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { isIPv6 } from "node:net";
import { basename } from "node:path";
import { Reader } from "mmdb-lib";
import type { Network } from "sluice/rules";
import { ServerError, show } from "../../base/errors.js";
import { countEntries, countEntriesLater } from "./entry-count.js";

/** The longest file: several times as large as the databases of today. */
const FILE_BYTES_MAX = 1_000_000_000;

/** What metrics show of a file. */
export interface MmdbFigures {
  /** Its name, without its folder. */
  readonly file: string;
  /** When its maker built it, by the wall clock. */
  readonly builtAtMs: number;
  /** How many networks it has. */
  readonly entries: number;
}

/** A file that can be asked. */
export interface MmdbFile extends MmdbFigures {
  /** What it says of an address, which is written in its one form. Undefined if the address is not in it. */
  networkOf(address: string): Network | undefined;
}

/**
 * Reads a file.
 *
 * @throws ServerError `SLUICE_MMDB_INVALID` if it can't be read or is not an MMDB file.
 */
export function readMmdb(file: string): MmdbFile {
  try {
    mustBeReadable(statSync(file));
    const content = readFileSync(file);
    const reader = new Reader<object>(content);
    return toMmdbFile(file, reader, countEntries(content, reader.metadata));
  } catch (error) {
    throw toMmdbError(file, error);
  }
}

/** Reads a file while requests are decided. Rejects with the same error. */
export async function readMmdbLater(file: string): Promise<MmdbFile> {
  try {
    mustBeReadable(await stat(file));
    const content = await readFile(file);
    const reader = new Reader<object>(content);
    return toMmdbFile(file, reader, await countEntriesLater(content, reader.metadata));
  } catch (error) {
    throw toMmdbError(file, error);
  }
}

/** A file is read as a whole: a device without an end, or a disk image named by mistake, would fill the memory. */
function mustBeReadable(stats: Stats): void {
  if (!stats.isFile()) throw new Error("it is not a file");
  if (stats.size <= FILE_BYTES_MAX) return;
  const found = `${Math.ceil(stats.size / 1e6)} MB`;
  throw new Error(`it has ${found}; at most ${FILE_BYTES_MAX / 1e6} MB are read`);
}

function toMmdbFile(file: string, reader: Reader<object>, entries: number): MmdbFile {
  const { buildEpoch, ipVersion } = reader.metadata;
  const networkOf = (address: string) => toNetwork(reader.get(address));
  return {
    file: basename(file),
    builtAtMs: Number(buildEpoch),
    entries,
    // The reader would take the first 32 bits of an IPv6 address for an IPv4 address in a file that has only those.
    networkOf:
      ipVersion === 4 ? (address) => (isIPv6(address) ? undefined : networkOf(address)) : networkOf,
  };
}

function toMmdbError(file: string, error: unknown): ServerError {
  const { code, message } = error as NodeJS.ErrnoException;
  const why = code === "ENOENT" ? "was not found; correct the path" : `can't be used: ${message}`;
  return new ServerError("SLUICE_MMDB_INVALID", `${show(file)} ${why}`, { cause: error });
}

type Fields = Readonly<Record<string, unknown>>;

/** What a record says: MaxMind's and DB-IP's names first, then IPinfo's. */
function toNetwork(record: object | null): Network | undefined {
  if (record === null) return undefined;
  const { autonomous_system_number, asn = autonomous_system_number } = record as Fields;
  const country = toCountryField(record as Fields);
  const hasAsn = typeof asn === "number" || typeof asn === "string";
  return { asn: hasAsn ? asn : undefined, country };
}

/** The country that an address is in; if that is not known, the one that it is registered in. */
function toCountryField({ country, registered_country, country_code }: Fields): string | undefined {
  for (const field of [country, country_code, registered_country]) {
    const code = typeof field === "object" ? (field as Fields | null)?.iso_code : field;
    if (typeof code === "string" && code.length === 2) return code;
  }
  return undefined;
}
