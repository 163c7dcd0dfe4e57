// What a message is called that two readers could take for two things: broken, and not repaired.

/** The statuses that answer something that is not a valid request: malformed, too slow, or too large a head. */
export type RefusalStatus = 400 | 408 | 431;

/** A message that is no HTTP, or whose end can't be told. */
export class MalformedMessage extends Error {
  override readonly name: string = "MalformedMessage";
  /** What a client is answered that sent it. */
  readonly status: 400 | 431;

  constructor(message: string, status: 400 | 431 = 400) {
    super(message);
    this.status = status;
  }
}
