// What a message is called that two readers could take for two things: broken, and not repaired.

/** A message that is no HTTP, or whose end can't be told. */
export class BrokenMessage extends Error {
  override readonly name: string = "BrokenMessage";
  /** What a client is answered that sent it. */
  readonly status: 400 | 431;

  constructor(message: string, status: 400 | 431 = 400) {
    super(message);
    this.status = status;
  }
}
