// Certificates, keys and authorities from PEM files, read again when they change, so that a renewal needs no
// restart. Open connections keep those that they began with.

import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { createSecureContext, type SecureContext, type SecureContextOptions } from "node:tls";
import type { Logger } from "pino";
import { ServerError } from "../errors.js";
import { lookAt, lookAtNow, watchFiles } from "../files/watch-files.js";

/** Files in PEM format. */
export interface TlsFiles {
  /** The certificate, followed by its chain. */
  readonly certFile?: string | undefined;
  readonly keyFile?: string | undefined;
  /** The authorities that the other side's certificate may come from. */
  readonly caFile?: string | undefined;
}

/** How files are watched, and what is notified of it. */
export interface TlsWatchOptions {
  /** How often the files are looked at, in milliseconds; default 5,000. */
  readonly lookEveryMs?: number | undefined;
  /** The files were read again; with an error they could not be used, and what was read before stays. */
  readonly onReload?: ((error?: unknown) => void) | undefined;
}

const LOOK_EVERY_MS = 5_000;

/** Files that are watched until `stop`. */
export class WatchedTls {
  readonly #files: TlsFiles;
  readonly #onReload: TlsWatchOptions["onReload"];
  readonly #stopWatching: () => void;
  #options: SecureContextOptions;
  #context: SecureContext;
  /** Called with what was read again. */
  onChange: ((options: SecureContextOptions) => void) | undefined = undefined;

  /** @throws ServerError `SLUICE_CONFIG_UNREADABLE` or `SLUICE_CONFIG_INVALID` if the files can't be used. */
  constructor(files: TlsFiles, { lookEveryMs = LOOK_EVERY_MS, onReload }: TlsWatchOptions = {}) {
    const { certFile, keyFile, caFile } = files;
    const watched = [certFile, keyFile, caFile].filter((file) => file !== undefined);
    const mark = lookAtNow(watched);
    this.#files = files;
    this.#onReload = onReload;
    this.#options = readOptions(files);
    this.#context = toContext(files, this.#options);
    // A certificate and its key are replaced one after the other: watchFiles waits until both are in place.
    const onChange = () => this.reload();
    this.#stopWatching =
      watched.length === 0
        ? () => {}
        : watchFiles(() => lookAt(watched), { mark, pollMs: lookEveryMs, onChange });
  }

  /** For `createServer` and `setSecureContext`. */
  get options(): SecureContextOptions {
    return this.#options;
  }

  /** For a connection of a client. */
  get context(): SecureContext {
    return this.#context;
  }

  /** Reads the files again now. Never throws: `onReload` gets the error. */
  reload(): void {
    try {
      const options = readOptions(this.#files);
      this.#context = toContext(this.#files, options);
      this.#options = options;
      this.onChange?.(options);
    } catch (error) {
      this.#onReload?.(error);
      return;
    }
    this.#onReload?.();
  }

  stop(): void {
    this.#stopWatching();
  }
}

/**
 * An `onReload` that logs.
 *
 * @param whose - Whose certificate it is: `of the gateway`.
 */
export function toReloadLog(log: Logger, whose: string): (error?: unknown) => void {
  return (error) => {
    if (error === undefined) log.info(`the certificate ${whose} was read again`);
    else log.error({ err: error }, `the certificate ${whose} can't be read again`);
  };
}

/** Throws what OpenSSL says about contents that can't be used together. */
export function checkTlsContents(
  contents: Pick<SecureContextOptions, "cert" | "key" | "ca">,
): void {
  // OpenSSL skips what it can't read of a list of authorities, and then nothing would verify.
  if (contents.ca !== undefined) new X509Certificate(contents.ca as string | Buffer);
  createSecureContext(contents);
}

function readOptions({ certFile, keyFile, caFile }: TlsFiles): SecureContextOptions {
  return {
    ...(certFile === undefined ? {} : { cert: readPem(certFile) }),
    ...(keyFile === undefined ? {} : { key: readPem(keyFile) }),
    ...(caFile === undefined ? {} : { ca: readPem(caFile) }),
    minVersion: "TLSv1.2",
    honorCipherOrder: true,
  };
}

function toContext(files: TlsFiles, options: SecureContextOptions): SecureContext {
  try {
    checkTlsContents(options);
    return createSecureContext(options);
  } catch (error) {
    const named = Object.entries(files).filter(([, file]) => file !== undefined);
    const seen = named.map(([field, file]) => `${field} ${file}`).join(" and ");
    const message = `${seen}: ${(error as Error).message}`;
    throw new ServerError("SLUICE_CONFIG_INVALID", message, { cause: error });
  }
}

function readPem(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new ServerError("SLUICE_CONFIG_UNREADABLE", (error as Error).message, { cause: error });
  }
}
