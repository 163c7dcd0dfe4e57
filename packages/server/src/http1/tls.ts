// Connections over TLS: a certificate from files, which is read again when they change,
// so that a renewal needs no restart. Connections that are open keep the one they began with.

import { readFileSync } from "node:fs";
import {
  createSecureContext,
  createServer,
  type SecureContextOptions,
  type Server,
} from "node:tls";
import { ServerError } from "../errors.js";
import { lookAt, lookAtNow, watchFiles } from "../watch-files.js";

/** Files in PEM format. */
export interface TlsFiles {
  /** The certificate, and behind it those that lead to its root. */
  readonly certFile: string;
  readonly keyFile: string;
}

/** How a server is made, and who is told of what happens to its files while it runs. */
export interface TlsOptions {
  /** How long a handshake may take, in milliseconds; default 10,000. */
  readonly handshakeMsMax?: number;
  /** How often the files are looked at, in milliseconds; default 5,000. */
  readonly lookEveryMs?: number;
  /** The certificate was read again; with an error it could not be used, and the one before stays. */
  readonly onReload?: (error?: unknown) => void;
}

const LOOK_EVERY_MS = 5_000;
const HANDSHAKE_MS_MAX = 10_000;

/** A server that watches its files until it is closed. */
export interface TlsServer {
  readonly server: Server;
  /** Reads the files again now. Never throws: `onReload` is told. */
  reload(): void;
}

/**
 * A server for TLS 1.2 or newer.
 *
 * @throws ServerError `SLUICE_CONFIG_UNREADABLE` or `SLUICE_CONFIG_INVALID` if the files can't be used.
 */
export function createTlsServer(
  files: TlsFiles,
  {
    // Node's own bound is two minutes, in which a slow client could hold its connection for nothing.
    handshakeMsMax: handshakeTimeout = HANDSHAKE_MS_MAX,
    lookEveryMs = LOOK_EVERY_MS,
    onReload,
  }: TlsOptions = {},
): TlsServer {
  const watched = [files.certFile, files.keyFile];
  const mark = lookAtNow(watched);
  const server = createServer({ handshakeTimeout, noDelay: true, ...readContext(files) });
  // A client that breaks off its handshake, or speaks no TLS, is nobody's error.
  server.on("tlsClientError", (_, socket) => socket.destroy());
  const reload = () => {
    try {
      server.setSecureContext(readContext(files));
    } catch (error) {
      onReload?.(error);
      return;
    }
    onReload?.();
  };
  // Both are changed one after the other: at rest they fit.
  const stopWatching = watchFiles(() => lookAt(watched), {
    mark,
    pollMs: lookEveryMs,
    onChange: reload,
  });
  server.once("close", stopWatching);
  return { server, reload };
}

/** The files' contents, once they are seen to fit together. */
function readContext({ certFile, keyFile }: TlsFiles): SecureContextOptions {
  const context: SecureContextOptions = {
    cert: readPem(certFile),
    key: readPem(keyFile),
    minVersion: "TLSv1.2",
    honorCipherOrder: true,
  };
  try {
    createSecureContext(context);
  } catch (error) {
    const seen = `certFile ${certFile} and keyFile ${keyFile}: ${(error as Error).message}`;
    throw new ServerError("SLUICE_CONFIG_INVALID", seen, { cause: error });
  }
  return context;
}

function readPem(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new ServerError("SLUICE_CONFIG_UNREADABLE", (error as Error).message, { cause: error });
  }
}
