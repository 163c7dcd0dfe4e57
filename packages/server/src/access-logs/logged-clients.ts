// The client of a logged request: the address that the log names, or behind trusted proxies the one that they forwarded,
// found as the service finds it.

import { ClientAddresses } from "sluice/internals";
import { toCidrList } from "sluice/rules";
import type { LogEntry } from "./log-entry.js";

/** Puts the client's address into entries. */
export class LoggedClients {
  readonly #addresses: ClientAddresses;
  #isForwarded = false;

  /** @param proxies - Addresses and ranges of trusted proxies. @throws If one is not a range. */
  constructor(proxies: readonly string[]) {
    this.#addresses = new ClientAddresses(
      { proxies: toCidrList(proxies), isConfigured: true, isUnaddressedTrusted: false },
      "x-forwarded-for",
    );
  }

  /** Whether any entry so far has X-Forwarded-For. */
  get isForwarded(): boolean {
    return this.#isForwarded;
  }

  /** Replaces the address of a proxy by that of its client. */
  find(entry: LogEntry): void {
    if (entry.forwardedFor !== undefined) this.#isForwarded = true;
    const { ip: peer } = entry.fillIn();
    entry.ipv4 = Number.NaN;
    entry.clients = undefined;
    entry.ip = this.#addresses.of({
      method: entry.method,
      target: entry.path,
      headers: { "x-forwarded-for": entry.forwardedFor },
      peer,
      raw: undefined,
      readBody: () => undefined,
    });
  }
}
