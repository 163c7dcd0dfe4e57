// Facts over other facts. Everything is read through, so that what was not derived yet is derived only if a rule asks;
// what is known better is overridden.

import type { Facts } from "./facts.js";

/** The same facts, for classes that change some of them. */
export class ReadThroughFacts implements Facts {
  protected readonly facts: Facts;

  constructor(facts: Facts) {
    this.facts = facts;
  }

  get method(): string {
    return this.facts.method;
  }
  get path(): string {
    return this.facts.path;
  }
  get host(): string | undefined {
    return this.facts.host;
  }
  get ip(): string | undefined {
    return this.facts.ip;
  }
  get asn(): Facts["asn"] {
    return this.facts.asn;
  }
  get country(): string | undefined {
    return this.facts.country;
  }
  get fingerprint(): string | undefined {
    return this.facts.fingerprint;
  }
  get user(): string | undefined {
    return this.facts.user;
  }
  get apiKey(): string | undefined {
    return this.facts.apiKey;
  }
  get tenant(): string | undefined {
    return this.facts.tenant;
  }
  get tier(): string | undefined {
    return this.facts.tier;
  }
  get plan(): string | null | undefined {
    return this.facts.plan;
  }
  get scopes(): Facts["scopes"] {
    return this.facts.scopes;
  }
  get headers(): Facts["headers"] {
    return this.facts.headers;
  }
  get cookies(): Facts["cookies"] {
    return this.facts.cookies;
  }
  get body(): Facts["body"] {
    return this.facts.body;
  }
  get attributes(): Facts["attributes"] {
    return this.facts.attributes;
  }
}
