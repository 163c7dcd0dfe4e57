// The denylist and the allowlist of a process: read from the files of the configuration, watched, and replaced together
// when one of them changes. If a file has a bad line or can't be read, the lists in force stay, and the problem is
// reported with its line.

import { readFileSync, type Stats, statSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { SluiceError } from "sluice";
import {
  type AddressList,
  AddressLists,
  type ListFile,
  readAddressList,
  readAddressListInSlices,
} from "sluice/rules";
import type { CancelTimer } from "../base/clock.js";
import { lookAt, lookAtNow, watchFiles } from "../base/files/watch-files.js";
import type { ListsConfig } from "../config/config.js";
import type { Telemetry } from "../telemetry/telemetry.js";

/** The longest file. */
const FILE_BYTES_MAX = 64_000_000;

/** How lists are kept in force. */
export interface ListsInForceOptions {
  readonly telemetry: Pick<Telemetry, "reloaded">;
  /** How often files are polled, in milliseconds; default 1,000. */
  readonly pollMs?: number;
}

/** Keeps the lists of files in force until it is closed. */
export class ListsInForce {
  readonly lists: AddressLists;
  readonly #config: ListsConfig;
  readonly #telemetry: ListsInForceOptions["telemetry"];
  readonly #stopWatching: CancelTimer;
  #isBad = false;

  /** @throws SluiceError `SLUICE_LIST_INVALID`, or the system's error if a file can't be read: nothing starts without its lists. */
  constructor(config: ListsConfig, { telemetry, pollMs }: ListsInForceOptions) {
    const files = [...config.deny, ...config.allow];
    this.#config = config;
    this.#telemetry = telemetry;
    // Before they are read, so that a change from here on is noticed.
    const mark = lookAtNow(files);
    this.lists = new AddressLists({
      deny: readAddressList(config.deny.map(readNow)),
      allow: readAddressList(config.allow.map(readNow)),
    });
    this.#stopWatching = watchFiles(() => lookAt(files), {
      mark,
      ...(pollMs === undefined ? {} : { pollMs }),
      onChange: () => this.reload(),
    });
  }

  /** Reads the files again. Never rejects: what is wrong is reported, and the lists in force stay. */
  async reload(): Promise<void> {
    try {
      const { deny, allow } = this.#config;
      this.lists.replace({ deny: await readLater(deny), allow: await readLater(allow) });
      this.#isBad = false;
      this.#telemetry.reloaded("lists");
    } catch (error) {
      this.#isBad = true;
      this.#telemetry.reloaded("lists", error);
    }
  }

  /** Whether the files can't be used as they are now, so that older lists are in force. */
  get isBad(): boolean {
    return this.#isBad;
  }

  /** Looks at the files no more. */
  close(): void {
    this.#stopWatching();
  }
}

function readNow(file: string): ListFile {
  mustBeShort(file, statSync(file));
  return { file, text: readFileSync(file, "utf8") };
}

async function readLater(files: readonly string[]): Promise<AddressList> {
  const read = async (file: string) => {
    mustBeShort(file, await stat(file));
    return { file, text: await readFile(file, "utf8") };
  };
  return readAddressListInSlices(await Promise.all(files.map(read)));
}

/** A file is read as a whole: a log that was named by mistake, or a device without an end, would fill the memory. */
function mustBeShort(file: string, stats: Stats): void {
  if (!stats.isFile()) throw new SluiceError("SLUICE_LIST_INVALID", `${file}: is not a file`);
  if (stats.size <= FILE_BYTES_MAX) return;
  const found = `${Math.ceil(stats.size / 1e6)} MB`;
  throw new SluiceError(
    "SLUICE_LIST_INVALID",
    `${file}: has ${found}; at most ${FILE_BYTES_MAX / 1e6} MB, which is more than a million entries`,
  );
}
