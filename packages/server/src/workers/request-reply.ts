// Questions and answers over a channel, beside those of the store: the primary asks its workers to reload,
// to drain and for their figures. An answer that does not come in time is an error.

import { after } from "../base/clock.js";
import { ServerError } from "../base/errors.js";
import type { Channel } from "./channel.js";

interface AskMessage {
  readonly sluice: "ask";
  readonly id: number;
  readonly what: string;
  readonly value: unknown;
}

interface ToldMessage {
  readonly sluice: "told";
  readonly id: number;
  readonly value?: unknown;
  /** Why there is no value. */
  readonly error?: string;
}

/** What a peer can be asked, by name. */
export type Answers = Readonly<Record<string, (value: never) => unknown>>;

/** Questions that wait at once: one of each kind, and a few that are late. */
const ASKED_MAX = 1_000;

/** One end of a channel, as one that asks and answers. */
export class Peer {
  readonly #channel: Channel;
  readonly #answers: Answers;
  readonly #asked = new Map<number, (told: ToldMessage) => void>();
  #last = 0;

  constructor(channel: Channel, answers: Answers = {}) {
    this.#channel = channel;
    this.#answers = answers;
    channel.listen((message) => {
      if (isMessage<AskMessage>("ask", message)) void this.#answer(message);
      if (isMessage<ToldMessage>("told", message)) this.#asked.get(message.id)?.(message);
    });
    channel.onceGone(() => {
      for (const [id, tell] of [...this.#asked]) tell(gone(id));
    });
  }

  /**
   * Asks the other end.
   *
   * @throws ServerError `SLUICE_WORKER_FAILED` if it says why not, is gone, or takes longer than `timeoutMs`.
   */
  ask(what: string, value: unknown, timeoutMs: number): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const id = ++this.#last;
      const fail = (seen: string) => reject(new ServerError("SLUICE_WORKER_FAILED", seen));
      if (this.#asked.size >= ASKED_MAX) return fail(`${ASKED_MAX} questions wait`);
      const cancel = after(timeoutMs, () => {
        this.#asked.delete(id);
        fail(`no answer to "${what}" within ${timeoutMs} ms`);
      });
      this.#asked.set(id, ({ value: told, error }) => {
        this.#asked.delete(id);
        cancel();
        if (error === undefined) resolve(told);
        else fail(error);
      });
      const message: AskMessage = { sluice: "ask", id, what, value };
      this.#channel.send(message);
    });
  }

  async #answer({ id, what, value }: AskMessage): Promise<void> {
    let told: ToldMessage;
    try {
      const answer = this.#answers[what];
      if (answer === undefined) throw new Error(`nobody answers "${what}"`);
      told = { sluice: "told", id, value: await answer(value as never) };
    } catch (error) {
      told = { sluice: "told", id, error: error instanceof Error ? error.message : String(error) };
    }
    this.#channel.send(told);
  }
}

/** Whether a message is of this kind. */
function isMessage<M extends { readonly sluice: string }>(
  kind: M["sluice"],
  message: unknown,
): message is M {
  return (message as { sluice?: unknown } | null)?.sluice === kind;
}

function gone(id: number): ToldMessage {
  return { sluice: "told", id, error: "the process is gone" };
}
