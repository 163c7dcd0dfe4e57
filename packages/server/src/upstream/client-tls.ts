// TLS to the targets of one upstream: which authorities are trusted, which name a certificate has to be for, and
// the certificate that the gateway shows itself.

import { isIP } from "node:net";
import type { ConnectionOptions } from "node:tls";
import type { UpstreamTlsConfig } from "../config/config.js";
import { type TlsWatchOptions, WatchedTls } from "../tls-files.js";

/** What connections to targets of one upstream have in common. */
export class ClientTls {
  readonly #config: UpstreamTlsConfig;
  readonly #watched: WatchedTls;

  /** @throws ServerError if a file can't be used. */
  constructor(config: UpstreamTlsConfig, onReload?: TlsWatchOptions["onReload"]) {
    const { certFile, keyFile, caFile } = config;
    this.#config = config;
    this.#watched = new WatchedTls({ certFile, keyFile, caFile }, { onReload });
  }

  /** For a connection to this host. */
  optionsFor(host: string): ConnectionOptions {
    const { serverName, verify } = this.#config;
    const name = serverName ?? (isIP(host) === 0 ? host : undefined);
    return {
      secureContext: this.#watched.context,
      rejectUnauthorized: verify,
      ALPNProtocols: ["http/1.1"],
      // TLS sends no server name for an IP address; Node compares the certificate with the address anyway.
      ...(name === undefined ? {} : { servername: name }),
    };
  }

  /** Reads the files again now. Never throws: `onReload` gets the error. */
  reload(): void {
    this.#watched.reload();
  }

  close(): void {
    this.#watched.stop();
  }
}

const CA_HINT = "set tls.caFile of the upstream to the certificate of the authority that issued it";
const NAME_HINT = "set tls.serverName of the upstream to a name that the certificate is for";

/** What to do about a failed handshake, by the error codes of OpenSSL and Node. */
const HINTS: ReadonlyMap<string | undefined, string> = new Map([
  ["DEPTH_ZERO_SELF_SIGNED_CERT", CA_HINT],
  ["SELF_SIGNED_CERT_IN_CHAIN", CA_HINT],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", CA_HINT],
  ["UNABLE_TO_GET_ISSUER_CERT", CA_HINT],
  ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", CA_HINT],
  ["ERR_TLS_CERT_ALTNAME_INVALID", NAME_HINT],
]);

/** Why a handshake failed, for the log. */
export function toHandshakeDetail({ message, code }: NodeJS.ErrnoException): string {
  const hint = HINTS.get(code);
  const seen = code === undefined ? message : `${message} (${code})`;
  return hint === undefined ? seen : `${seen}; ${hint}`;
}
