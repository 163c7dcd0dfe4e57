// A request as rules look at it: the facts, and what is derived from them once however many rules ask.
// Nothing is derived before a rule asks for it.

import type { Facts } from "../facts.js";
import { findNetwork, type Network, type NetworkOf, toAsn, toCountry } from "../network.js";
import { toClientAddress } from "../normalize/address.js";
import { toHost, toWildcards } from "./host.js";
import { type ReadPath, readPath } from "./normalize-path.js";

/** The facts of one request, normalised on demand. */
export class NormalizedRequest {
  readonly facts: Facts;
  readonly #ipv6Prefix: number;
  readonly #networkOf: NetworkOf | undefined;
  #method: string | undefined = undefined;
  #path: ReadPath | undefined = undefined;
  // Null stands for what was looked for and is not there.
  #host: string | null | undefined = undefined;
  #wildcards: readonly string[] | undefined = undefined;
  #address: string | null | undefined = undefined;
  #network: Network | undefined = undefined;

  constructor(facts: Facts, ipv6Prefix: number, networkOf?: NetworkOf) {
    this.facts = facts;
    this.#ipv6Prefix = ipv6Prefix;
    this.#networkOf = networkOf;
  }

  /** In upper case. */
  get method(): string {
    this.#method ??= this.facts.method.toUpperCase();
    return this.#method;
  }

  /** The path in its one form. */
  get path(): ReadPath {
    this.#path ??= readPath(this.facts.path);
    return this.#path;
  }

  /** The host without port, in lower case; undefined if there is none. */
  get host(): string | undefined {
    if (this.#host === undefined) this.#host = toHost(this.facts.host) ?? null;
    return this.#host ?? undefined;
  }

  /** What covers the host: `*.api.example.com`, `*.example.com`, `*.com`. */
  get wildcards(): readonly string[] {
    this.#wildcards ??= toWildcards(this.host);
    return this.#wildcards;
  }

  /** The number of the client's autonomous system, in digits; undefined if it is not known. */
  get asn(): string | undefined {
    return toAsn(this.facts.asn ?? this.#known.asn);
  }

  /** The client's country, by two letters; undefined if it is not known. */
  get country(): string | undefined {
    return toCountry(this.facts.country ?? this.#known.country);
  }

  /** The network of the address, looked up once. */
  get #known(): Network {
    this.#network ??= findNetwork(this.#networkOf, this.facts.ip);
    return this.#network;
  }

  /** The client's address as it is counted, undefined if there is none or it is not an address. */
  get address(): string | undefined {
    if (this.#address === undefined) {
      const { ip } = this.facts;
      this.#address =
        ip === undefined ? null : (toClientAddress(ip, { ipv6Prefix: this.#ipv6Prefix }) ?? null);
    }
    return this.#address ?? undefined;
  }
}
