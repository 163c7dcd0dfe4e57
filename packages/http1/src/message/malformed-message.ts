// The error for a message that is not valid HTTP/1.1, or that two parsers could read in two ways. It is never repaired.

/** The statuses that answer something that is not a valid request: malformed, too slow, or too large a head. */
export type RefusalStatus = 400 | 408 | 431;

/** A message that is not valid, or whose end is not certain. */
export class MalformedMessage extends Error {
  override readonly name: string = "MalformedMessage";
  /** The status that answers a request like this. */
  readonly status: 400 | 431;

  constructor(message: string, status: 400 | 431 = 400) {
    super(message);
    this.status = status;
  }
}
