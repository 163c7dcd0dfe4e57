// What passes between the thread that reads logs and the one that it reads them for.

import type { MessagePort } from "node:worker_threads";
import type { FieldMap } from "../formats/field-map.js";
import type { EntryNeeds } from "../log-entry.js";
import type { FormatName } from "../log-format.js";
import type { LogPortion } from "./log-portion.js";
import type { StoredLog } from "./stored-log.js";

/** A log that the thread reads: a file, or chunks that come to a port. */
export interface ThreadLog {
  readonly name: string;
  readonly format: {
    readonly name: FormatName;
    readonly title: string;
    readonly fields: FieldMap | undefined;
  };
  readonly from: { readonly file: StoredLog } | { readonly port: MessagePort };
}

/** What the thread is started with. */
export interface ForThread {
  readonly logs: readonly ThreadLog[];
  readonly needs: EntryNeeds;
}

/** What the thread posts. When it is several portions ahead, it waits until one is taken. */
export type FromThread =
  | LogPortion
  | "end"
  /** An error of the file system, whose fields would be lost on the way. */
  | { readonly failed: object; readonly message: string };

/** A chunk of a log; null at its end. */
export type Chunk = Uint8Array | { readonly damage: string } | null;
