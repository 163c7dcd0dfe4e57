// Reads the live stream: server-sent events by fetch, which can say why it was refused. It connects again by itself, a
// little later each time, and stops when the service says that the login has ended.

import type { LiveBegin, LiveTick } from "sluice-server/api";
import { after } from "../base/clock.js";
import { type ApiError, openStream } from "./client.js";
import { CLEAR_KEYS } from "./session.js";

/** What a stream calls. */
export interface LiveListener {
  onBegin(begin: LiveBegin): void;
  onTick(tick: LiveTick): void;
  /** The connection was lost, and is tried again. */
  onLost(error: ApiError | undefined): void;
}

/** Between attempts: doubled each time. */
const RETRY_MS = 500;
const RETRY_MS_MAX = 8_000;
/** The service sends every second: after this long without anything the connection counts as lost. */
const SILENCE_MS_MAX = 6_000;

/** What is streamed. */
export interface LiveQuery {
  readonly showsKeys: boolean;
  /** Undefined: all nodes. */
  readonly node?: string | undefined;
  /** Whether all rules that counted something are listed. Default: only the busiest. */
  readonly hasAllRules?: boolean;
}

/** Opens the stream. Returns what closes it. */
export function openLive(query: LiveQuery, listener: LiveListener): () => void {
  const ending = new AbortController();
  let retryMs = RETRY_MS;
  let cancel = () => {};
  const connect = async () => {
    const lost = await read(query, ending.signal, {
      ...listener,
      onTick: (tick) => {
        retryMs = RETRY_MS;
        listener.onTick(tick);
      },
    });
    if (ending.signal.aborted) return;
    listener.onLost(lost);
    if (lost?.status === 401) return;
    cancel = after(retryMs, () => void connect());
    retryMs = Math.min(RETRY_MS_MAX, retryMs * 2);
  };
  void connect();
  return () => {
    ending.abort();
    cancel();
  };
}

/** Reads until the stream ends; returns why it could not be opened, if so. */
async function read(
  { showsKeys, node, hasAllRules = false }: LiveQuery,
  signal: AbortSignal,
  listener: Pick<LiveListener, "onBegin" | "onTick">,
): Promise<ApiError | undefined> {
  const silence = new AbortController();
  let cancel = () => {};
  const listen = () => {
    cancel();
    cancel = after(SILENCE_MS_MAX, () => silence.abort());
  };
  try {
    listen();
    const rules = hasAllRules ? "all" : undefined;
    const body = await openStream("/v1/live", {
      query: { keys: showsKeys ? "clear" : undefined, node, rules },
      headers: showsKeys ? CLEAR_KEYS : {},
      signal: AbortSignal.any([signal, silence.signal]),
    });
    for await (const { name, data } of eventsOf(body)) {
      listen();
      if (name === "begin") listener.onBegin(JSON.parse(data) as LiveBegin);
      else if (name === "tick") listener.onTick(JSON.parse(data) as LiveTick);
    }
    return undefined;
  } catch (error) {
    return error instanceof Error && "status" in error ? (error as ApiError) : undefined;
  } finally {
    cancel();
  }
}

interface StreamEvent {
  readonly name: string;
  readonly data: string;
}

async function* eventsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamEvent> {
  const reader = body
    .pipeThrough(new TextDecoderStream() as never)
    .getReader() as ReadableStreamDefaultReader<string>;
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const pieces = (rest + value).split("\n\n");
    rest = pieces.pop() ?? "";
    for (const piece of pieces) yield toEvent(piece);
  }
}

function toEvent(piece: string): StreamEvent {
  const [, name = ""] = /^event: (.*)$/m.exec(piece) ?? [];
  const [, data = ""] = /^data: (.*)$/m.exec(piece) ?? [];
  return { name, data };
}
