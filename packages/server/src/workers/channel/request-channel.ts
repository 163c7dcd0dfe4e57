// Requests and replies over the control channel: the primary asks its workers to reload, to drain and for their
// metrics. A reply that does not come in time is an error.

import { formatDuration } from "sluice/shapes";
import { after } from "../../base/clock.js";
import { ServerError } from "../../base/errors.js";
import type { Channel } from "./channel.js";

interface RequestMessage {
  readonly sluice: "request";
  readonly id: number;
  readonly what: string;
  readonly value: unknown;
}

interface ReplyMessage {
  readonly sluice: "reply";
  readonly id: number;
  readonly value?: unknown;
  /** The reason if the request failed. */
  readonly error?: string;
}

/** Handlers of requests, by name. */
export type RequestHandlers = Readonly<Record<string, (value: never) => unknown>>;

/** The most requests that wait for a reply: every scrape and every list that an operator asks for is one. */
const ASKED_MAX = 1_000;
const GONE = "the process has exited";

/** One end of a channel, which sends requests and answers those of the other end. */
export class RequestChannel {
  readonly #channel: Channel;
  readonly #handlers: RequestHandlers;
  readonly #asked = new Map<number, (reply: ReplyMessage) => void>();
  #last = 0;
  #isGone = false;

  constructor(channel: Channel, handlers: RequestHandlers = {}) {
    this.#channel = channel;
    this.#handlers = handlers;
    channel.listen((message) => {
      if (isMessage<RequestMessage>("request", message)) void this.#answer(message);
      if (isMessage<ReplyMessage>("reply", message)) this.#asked.get(message.id)?.(message);
    });
    channel.onceGone(() => {
      this.#isGone = true;
      for (const [id, settle] of [...this.#asked]) settle({ sluice: "reply", id, error: GONE });
    });
  }

  /**
   * Asks the other end.
   *
   * @throws ServerError `SLUICE_WORKER_FAILED` if the request fails, the process has exited (before or after the
   * request), or no reply comes within `timeoutMs`.
   */
  ask(what: string, value: unknown, timeoutMs: number): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const id = ++this.#last;
      const fail = (seen: string) => reject(new ServerError("SLUICE_WORKER_FAILED", seen));
      if (this.#isGone) return fail(GONE);
      if (this.#asked.size >= ASKED_MAX)
        return fail(`${ASKED_MAX} requests are waiting for a reply`);
      const cancel = after(timeoutMs, () => {
        this.#asked.delete(id);
        fail(`no reply to "${what}" within ${formatDuration(timeoutMs)}`);
      });
      this.#asked.set(id, ({ value: replied, error }) => {
        this.#asked.delete(id);
        cancel();
        if (error === undefined) resolve(replied);
        else fail(error);
      });
      const message: RequestMessage = { sluice: "request", id, what, value };
      this.#channel.send(message);
    });
  }

  async #answer({ id, what, value }: RequestMessage): Promise<void> {
    let reply: ReplyMessage;
    try {
      const handle = this.#handlers[what];
      if (handle === undefined) throw new Error(`unknown request "${what}"`);
      reply = { sluice: "reply", id, value: await handle(value as never) };
    } catch (error) {
      reply = {
        sluice: "reply",
        id,
        error: error instanceof Error ? error.message : String(error),
      };
    }
    this.#channel.send(reply);
  }
}

/** Whether a message is of this kind. */
function isMessage<M extends { readonly sluice: string }>(
  kind: M["sluice"],
  message: unknown,
): message is M {
  return (message as { sluice?: unknown } | null)?.sluice === kind;
}
