// A server over TLS, whose certificate follows its files.

import { createServer, type Server } from "node:tls";
import { type TlsFiles, type TlsWatchOptions, WatchedTls } from "./tls-files.js";

/** How a server is made, and what is notified of changes to its files while it runs. */
export interface TlsOptions extends TlsWatchOptions {
  /** How long a handshake may take, in milliseconds; default 10,000. */
  readonly handshakeMsMax?: number;
}

const HANDSHAKE_MS_MAX = 10_000;

/** A server that watches its files until it is closed. */
export interface TlsServer {
  readonly server: Server;
  /** Reads the files again now. Never throws: `onReload` gets the error. */
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
    ...watching
  }: TlsOptions = {},
): TlsServer {
  const watched = new WatchedTls(files, watching);
  const server = createServer({ handshakeTimeout, noDelay: true, ...watched.options });
  // A client that breaks off its handshake, or does not speak TLS, is not an error of the server.
  server.on("tlsClientError", (_, socket) => socket.destroy());
  watched.onChange = (options) => server.setSecureContext(options);
  server.once("close", () => watched.stop());
  return { server, reload: () => watched.reload() };
}
