// The MMDB files of a service: asked together, watched, and read again when one of them changes. What can't be read leaves
// the data in force as it is.

import { BoundedMap } from "sluice/internals";
import type { Network, NetworkOf } from "sluice/rules";
import type { CancelTimer } from "../../base/clock.js";
import { lookAt, lookAtNow, watchFiles } from "../../base/files/watch-files.js";
import type { Telemetry } from "../../telemetry/telemetry.js";
import { type MmdbFile, readMmdb, readMmdbLater } from "./mmdb-file.js";

/** How many addresses are remembered with what files say of them. */
const ADDRESSES_MAX = 16_384;

const UNKNOWN: Network = {};

/** How files are opened. */
export interface MmdbOptions {
  readonly telemetry: Telemetry;
  /** How often files are looked at, in milliseconds; default 1,000. */
  readonly pollMs?: number;
}

/** Files that were opened. */
export interface OpenMmdb {
  readonly networkOf: NetworkOf;
  /** Reads all files again. If one can't be used, it is reported and what was in force stays. Never rejects. */
  reload(): Promise<void>;
  /** Looks at the files no more. */
  close(): void;
}

/**
 * Opens files and watches them; undefined if there are none.
 *
 * @throws ServerError `SLUICE_MMDB_INVALID` if one of them can't be used.
 */
export function openMmdbFiles(
  files: readonly string[] = [],
  options: MmdbOptions,
): OpenMmdb | undefined {
  return files.length === 0 ? undefined : new MmdbFiles(files, options);
}

class MmdbFiles implements OpenMmdb {
  readonly #paths: readonly string[];
  readonly #telemetry: Telemetry;
  readonly #known = new BoundedMap<string, Network>(ADDRESSES_MAX);
  readonly #stopWatching: CancelTimer;
  #files: readonly MmdbFile[];

  constructor(paths: readonly string[], { telemetry, pollMs }: MmdbOptions) {
    this.#paths = paths;
    this.#telemetry = telemetry;
    const mark = lookAtNow(paths);
    this.#files = paths.map(readMmdb);
    telemetry.clients.watchMmdb(() => this.#files);
    this.#stopWatching = watchFiles(() => lookAt(paths), {
      mark,
      ...(pollMs === undefined ? {} : { pollMs }),
      onChange: () => this.reload(),
    });
  }

  readonly networkOf = (address: string): Network | undefined => {
    const known = this.#known.get(address);
    if (known !== undefined) return known === UNKNOWN ? undefined : known;
    const found = this.#find(address);
    this.#known.set(address, found);
    return found === UNKNOWN ? undefined : found;
  };

  async reload(): Promise<void> {
    try {
      this.#files = await Promise.all(this.#paths.map(readMmdbLater));
      this.#known.clear();
      this.#telemetry.reloaded("mmdb");
    } catch (error) {
      this.#telemetry.reloaded("mmdb", error);
    }
  }

  close(): void {
    this.#stopWatching();
  }

  /** The first file that knows one of the two counts for it. */
  #find(address: string): Network {
    let asn: Network["asn"];
    let country: Network["country"];
    for (const file of this.#files) {
      const network = this.#ask(file, address);
      asn ??= network?.asn;
      country ??= network?.country;
      if (asn !== undefined && country !== undefined) break;
    }
    return asn === undefined && country === undefined ? UNKNOWN : { asn, country };
  }

  #ask(file: MmdbFile, address: string): Network | undefined {
    try {
      return file.networkOf(address);
    } catch (error) {
      this.#telemetry.problem("a record of an MMDB file can't be read", error, { file: file.file });
      return undefined;
    }
  }
}
