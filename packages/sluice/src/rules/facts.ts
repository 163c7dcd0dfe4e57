// Facts: what is known about a request. The HTTP request handlers read them from the request; any other user of a
// policy, such as a queue or a test, provides them.

/** What is known of a request. What is left out is not known, and no rule may count by it. */
export interface Facts {
  /** `"GET"`, in any case. */
  readonly method: string;
  /** The path as it was sent, with or without its query: it is normalised once, by the policy. */
  readonly path: string;
  readonly host?: string | undefined;
  /** The client's address in any notation, already found behind proxies. */
  readonly ip?: string | undefined;
  /**
   * The number of the autonomous system that the address belongs to, and its country by two letters. Default: what
   * `networkOf` of the policy says of the address.
   */
  readonly asn?: number | string | undefined;
  readonly country?: string | undefined;
  /** What distinguishes the client's software from others, as a trusted proxy sees it: a JA4 hash. */
  readonly fingerprint?: string | undefined;
  readonly user?: string | undefined;
  /** Never the API key itself but a hash of it, or the id that a key resolver gave it. */
  readonly apiKey?: string | undefined;
  readonly tenant?: string | undefined;
  /** The tenant as it stands in keys, where that is known already. @internal */
  readonly tenantKey?: string | undefined;
  /** Which of a rule's tiers holds. */
  readonly tier?: string | undefined;
  /**
   * The plan of the caller's tenant, by which a rule can have exceptions. Null: it is known to have none, and
   * `describeTenants` is not asked.
   */
  readonly plan?: string | null | undefined;
  /**
   * What the caller's API key may be used for. Rules match them as the attribute `scope`; if they are not known, an
   * attribute of that name counts.
   */
  readonly scopes?: readonly string[] | undefined;
  /** By lower-case name, as `node:http` has them. */
  readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>> | undefined;
  /** By name; the values are secrets and are hashed before anything is counted by them. */
  readonly cookies?: Readonly<Record<string, string | undefined>> | undefined;
  /** Top-level fields of a JSON or form body. */
  readonly body?: Readonly<Record<string, unknown>> | undefined;
  /** Anything else: a region, a device, what a function in code found. */
  readonly attributes?: Readonly<Record<string, string | number | undefined>> | undefined;
}
