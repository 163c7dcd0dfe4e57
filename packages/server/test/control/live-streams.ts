// Reads live streams in tests: what each of them has been sent so far.

import type { LiveBegin, LiveTick } from "../../src/admin/live/live-event.js";

/** One stream. */
export class LiveStreamReader {
  readonly status: number;
  readonly begins: LiveBegin[] = [];
  readonly ticks: LiveTick[] = [];

  constructor(status: number) {
    this.status = status;
  }

  /** The latest tick. */
  tick(): LiveTick | undefined {
    return this.ticks.at(-1);
  }

  async read(body: ReadableStream<Uint8Array>): Promise<void> {
    let rest = "";
    const decoder = new TextDecoder();
    for await (const piece of body) {
      const events = (rest + decoder.decode(piece, { stream: true })).split("\n\n");
      rest = events.pop() ?? "";
      for (const event of events) this.#take(event);
    }
  }

  #take(event: string): void {
    const [, name, data = ""] = /^event: (\w+)\ndata: (.*)$/.exec(event) ?? [];
    if (name === "begin") this.begins.push(JSON.parse(data) as LiveBegin);
    if (name === "tick") this.ticks.push(JSON.parse(data) as LiveTick);
  }
}

/** The streams of a test. */
export class LiveStreams {
  #ending = new AbortController();

  /** Opens a stream; it is read until `close`. */
  async open(
    url: string,
    token: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<LiveStreamReader> {
    const { signal } = this.#ending;
    const authorization = `Bearer ${token}`;
    const response = await fetch(url, { signal, headers: { authorization, ...headers } });
    const reader = new LiveStreamReader(response.status);
    if (response.ok && response.body !== null) reader.read(response.body).catch(() => {});
    else await response.body?.cancel();
    return reader;
  }

  /** Ends all of them. */
  close(): void {
    this.#ending.abort();
    this.#ending = new AbortController();
  }
}
