// TLS to the backends of one upstream: which authorities are trusted, which name a certificate has to be for, and
// the certificate that the gateway shows itself.

import { isIP } from "node:net";
import type { ConnectionOptions } from "node:tls";
import { type TlsWatchOptions, WatchedTls } from "../../base/tls/tls-files.js";
import type { UpstreamTlsConfig } from "../../config/config.js";

/** What connections to backends of one upstream have in common. */
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

const DATE_HINT = "renew the certificate, or correct the clock of this machine";
const CERT_HINT =
  "if the upstream asks for a client certificate, set tls.certFile and tls.keyFile to one that it accepts";
/** What to do about a failed handshake, by the error codes of OpenSSL and Node. */
const HINTS: ReadonlyMap<string | undefined, string> = new Map([
  ["DEPTH_ZERO_SELF_SIGNED_CERT", CA_HINT],
  ["SELF_SIGNED_CERT_IN_CHAIN", CA_HINT],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", CA_HINT],
  ["UNABLE_TO_GET_ISSUER_CERT", CA_HINT],
  ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", CA_HINT],
  ["ERR_TLS_CERT_ALTNAME_INVALID", NAME_HINT],
  ["CERT_HAS_EXPIRED", DATE_HINT],
  ["CERT_NOT_YET_VALID", DATE_HINT],
  ["ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE", CERT_HINT],
  ["ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED", CERT_HINT],
  ["ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE", CERT_HINT],
  ["ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED", CERT_HINT],
  ["ERR_SSL_SSLV3_ALERT_CERTIFICATE_REVOKED", CERT_HINT],
  ["ERR_SSL_SSLV3_ALERT_CERTIFICATE_UNKNOWN", CERT_HINT],
  ["ERR_SSL_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE", CERT_HINT],
  ["ERR_SSL_TLSV1_ALERT_UNKNOWN_CA", CERT_HINT],
  ["ERR_SSL_TLSV1_ALERT_ACCESS_DENIED", CERT_HINT],
]);

/** Why TLS failed, for the log. The reason alone: the message of OpenSSL also has lines of its source. */
export function toTlsDetail(error: NodeJS.ErrnoException & { readonly reason?: string }): string {
  const { message, code, reason = message } = error;
  const hint = HINTS.get(code);
  const seen = code === undefined ? reason : `${reason} (${code})`;
  return hint === undefined ? seen : `${seen}; ${hint}`;
}
