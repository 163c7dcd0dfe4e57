// The facts of one HTTP request. Each is read from the request on demand, and only once: most
// requests are decided by their address alone. Never spread these: the fields are getters.

import type { Facts } from "../../rules/facts.js";
import type { FoundKey } from "./api-keys/key-resolver.js";
import { readApiKey, readSentKey } from "./api-keys/sent-key.js";
import { SharedKey } from "./api-keys/shared-key.js";
import { parseCookies } from "./cookies.js";
import { readHost } from "./host.js";
import type { HttpRequest } from "./http-request.js";
import type { IdentitySetup, NamedSource } from "./identity-options.js";
import { readSingle } from "./sources.js";

/** The caller, as far as it is known. */
interface Caller {
  user: string | undefined;
  tenant: string | undefined;
  tier: string | undefined;
  readonly attributes: Record<string, string | number | undefined>;
}

/** Those of a key without any: what headers and tokens call a scope does not count for it. */
const NO_SCOPES: readonly string[] = [];

/** Facts of a request, read on demand. */
export class RequestFacts implements Facts {
  readonly #setup: IdentitySetup;
  readonly #request: HttpRequest;
  // Undefined is not yet read; null is read and not there.
  #ip: string | null | undefined = undefined;
  #host: string | null | undefined = undefined;
  #apiKey: string | null | undefined = undefined;
  #sentKey: string | null | undefined = undefined;
  /** What the API key stands for; undefined if it is not resolved. */
  #resolved: FoundKey | undefined = undefined;
  #cookies: Facts["cookies"] | null = undefined;
  #caller: Caller | undefined = undefined;
  #body: Facts["body"] = undefined;

  constructor(setup: IdentitySetup, request: HttpRequest) {
    this.#setup = setup;
    this.#request = request;
  }

  get method(): string {
    const { methodOverride } = this.#setup;
    const { method } = this.#request;
    if (methodOverride === undefined || method !== "POST") return method;
    const meant = readFirst(this.#request, methodOverride.header)?.toUpperCase();
    return meant !== undefined && methodOverride.methods.includes(meant) ? meant : method;
  }

  get path(): string {
    return this.#request.target;
  }

  get headers(): Facts["headers"] {
    return this.#request.headers;
  }

  get ip(): string | undefined {
    if (this.#ip === undefined) this.#ip = this.#setup.clients.of(this.#request) ?? null;
    return this.#ip ?? undefined;
  }

  get host(): string | undefined {
    if (this.#host === undefined)
      this.#host = readHost(this.#request, this.#trustsForwardedHost()) ?? null;
    return this.#host ?? undefined;
  }

  get fingerprint(): string | undefined {
    const { fingerprintHeader, clients } = this.#setup;
    if (fingerprintHeader === undefined || !clients.isTrusted(this.#request.peer)) return undefined;
    return readSingle(this.#request, fingerprintHeader);
  }

  /**
   * The API key as it was sent, if it has to be resolved: undefined if there is none, or no resolver; an empty
   * string if there are several.
   */
  get sentKey(): string | undefined {
    if (this.#setup.keyResolver === undefined) return undefined;
    if (this.#sentKey === undefined)
      this.#sentKey = readSentKey(this.#setup.apiKey, this.#request) ?? null;
    return this.#sentKey ?? undefined;
  }

  get apiKey(): string | undefined {
    if (this.#setup.keyResolver !== undefined) return this.#resolvedId();
    if (this.#apiKey === undefined)
      this.#apiKey = readApiKey(this.#setup.apiKey, this.#request) ?? null;
    return this.#apiKey ?? undefined;
  }

  get cookies(): Facts["cookies"] {
    if (this.#cookies === undefined) {
      this.#cookies = parseCookies(this.#request.headers.cookie) ?? null;
    }
    return this.#cookies ?? undefined;
  }

  get user(): string | undefined {
    return this.#known().user;
  }

  get tenant(): string | undefined {
    return this.#resolved === undefined ? this.#known().tenant : this.#resolved.tenant;
  }

  get tenantKey(): string | undefined {
    const resolved = this.#resolved;
    return resolved instanceof SharedKey ? resolved.tenantKey : undefined;
  }

  get tier(): string | undefined {
    return this.#resolved === undefined ? this.#known().tier : this.#resolved.tier;
  }

  get plan(): string | null | undefined {
    return this.#resolved?.plan;
  }

  get scopes(): Facts["scopes"] {
    return this.#resolved === undefined ? undefined : (this.#resolved.scopes ?? NO_SCOPES);
  }

  get attributes(): Facts["attributes"] {
    const { attributes } = this.#known();
    const own = this.#resolved?.attributes;
    return own === undefined ? attributes : Object.assign(attributes, own);
  }

  get body(): Facts["body"] {
    return this.#body;
  }

  /** Adds what was found out about the caller. */
  learn(source: NamedSource, value: string | undefined): void {
    const caller = this.#known();
    if (source.isAttribute) caller.attributes[source.name] = value;
    else caller[source.name] = value;
  }

  /** Adds what the API key stands for: from now on its tenant, tier and plan are the caller's, and no other. */
  learnKey(resolved: FoundKey): void {
    this.#resolved = resolved;
  }

  /** Adds the fields of the body. */
  learnBody(body: Facts["body"]): void {
    this.#body = body;
  }

  #resolvedId(): string | undefined {
    const resolved = this.#resolved;
    return resolved instanceof SharedKey ? resolved.idOf(this.sentKey ?? "") : resolved?.id;
  }

  #trustsForwardedHost(): boolean {
    return this.#setup.isHostForwarded && this.#setup.clients.isTrusted(this.#request.peer);
  }

  #known(): Caller {
    if (this.#caller !== undefined) return this.#caller;
    const attributes = Object.create(null);
    this.#caller = { user: undefined, tenant: undefined, tier: undefined, attributes };
    for (const source of this.#setup.headerSources) {
      if (source.isForAnyone || this.#setup.clients.isTrusted(this.#request.peer)) {
        this.learn(source, readSingle(this.#request, source.header));
      }
    }
    return this.#caller;
  }
}

/** The first value of a header, which is what applications that honour an override take. */
function readFirst({ headers }: HttpRequest, name: string): string | undefined {
  const lines = headers[name];
  const text = typeof lines === "string" ? lines : lines?.[0];
  return text?.split(",", 1)[0].trim();
}
