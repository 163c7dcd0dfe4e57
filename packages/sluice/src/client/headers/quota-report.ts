// What a response says about one quota, whatever headers it says it with.

/** What is left of a quota. */
export interface QuotaReport {
  /** The policy's name; empty where the headers have none. */
  readonly name: string;
  /** The server's partition key: two responses with the same one are about the same counter. Default: not known. */
  readonly partitionKey?: string | undefined;
  /** The whole quota; undefined if not known. */
  readonly limit: number | undefined;
  /** What is left of it now. */
  readonly remaining: number;
  /** Until more is available; undefined if not known. */
  readonly resetMs: number | undefined;
  /** The length of the quota's window, which bounds the time to its reset. Default: not known. */
  readonly windowMs?: number | undefined;
  /** False if it counts something else than requests, such as tokens or bytes. */
  readonly isOfRequests: boolean;
}
