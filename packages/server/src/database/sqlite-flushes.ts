// Flushes the log of an SQLite file to the disk without holding up other work.

import { type FileHandle, open } from "node:fs/promises";
import { ServerError } from "../base/errors.js";

/** Flushes the log of a database, once for all that wait. */
export class SqliteFlushes {
  readonly #path: string;
  /** The log stays the same file for as long as a connection is open. */
  #file: FileHandle | undefined;
  #current: Promise<void> = Promise.resolve();
  /**
   * What the first flush that failed said. The system may take what it could not write for written, and say nothing the
   * next time: later changes stand behind it in the log, so none of them is safe until the file is opened again.
   */
  #failure: ServerError | undefined;
  #next: Promise<void> | undefined;

  /** @param path - Of the log. */
  constructor(path: string) {
    this.#path = path;
  }

  /** Resolves when all that is written now is on the disk. Those who wait for the flush under way share the next. */
  next(): Promise<void> {
    this.#next ??= this.#current.then(() => {
      this.#next = undefined;
      const flush = this.#flush();
      this.#current = flush.catch(() => {});
      return flush;
    });
    return this.#next;
  }

  /** Waits for what is under way. */
  async close(): Promise<void> {
    await (this.#next ?? this.#current).catch(() => {});
    await this.#file?.close();
    this.#file = undefined;
  }

  async #flush(): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    try {
      this.#file ??= await open(this.#path, "r+");
      // As SQLite does: the data and the length. Times of the file are not waited for.
      await this.#file.datasync();
    } catch (cause) {
      const { code, message } = cause as NodeJS.ErrnoException;
      // The first change makes the log. The last connection removes it when all of it is in the database, and on the disk.
      if (code === "ENOENT") return;
      const how = "see to the disk, and restart the service";
      const seen = `${this.#path} can't be flushed to the disk: ${message}; ${how}`;
      this.#failure = new ServerError("SLUICE_DATABASE_FAILED", seen, { cause });
      throw this.#failure;
    }
  }
}
