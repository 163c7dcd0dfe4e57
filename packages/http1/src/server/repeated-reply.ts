// A response that many requests get, such as the refusals of a flood. It is put together once a second, for the sake of its
// Date, and sent as it is (bench service/reject).

/** A whole response, to be sent by `Exchange.repeat`. It belongs to one server. */
export class RepeatedReply {
  readonly status: number;
  /** Headers as in `Exchange.reply`. */
  readonly lines: string;
  readonly body: string;
  #date = "";
  #bytes: string | Buffer = "";

  constructor(status: number, lines: string, body: string) {
    this.status = status;
    this.lines = lines;
    this.body = body;
  }

  /** For exchanges: whether it was put together with this line. */
  isFor(date: string): boolean {
    return date === this.#date;
  }

  /** For exchanges: the whole response; each character of a string is a byte. */
  get bytes(): string | Buffer {
    return this.#bytes;
  }

  /** For exchanges: puts it together. */
  keep(date: string, head: string, body: string): void {
    this.#date = date;
    const bytes = Buffer.concat([Buffer.from(head, "latin1"), Buffer.from(body)]);
    // A string is written faster than a buffer. This one is flat, not a tree of its parts.
    this.#bytes = bytes.length === head.length + body.length ? bytes.toString("latin1") : bytes;
  }
}
