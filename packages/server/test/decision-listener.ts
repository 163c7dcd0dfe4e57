// An open decision listener for tests, over a memory store and a clock that only the test moves.

import { ForwardingStore, memoryStore, SluiceError, type Store } from "sluice";
import type { KeyResolver } from "sluice/api-keys";
import { ManualClock } from "sluice/testing";
import { onStop } from "sluice-test-servers";
import type { Config, DecisionConfig } from "../src/config/config.js";
import type { Listener } from "../src/core/core.js";
import { createCore, type OwnedCore } from "../src/core/create-core.js";
import { openDecision } from "../src/decision/decision.js";
import type { Telemetry } from "../src/telemetry/telemetry.js";
import { toTestConfig } from "./test-config.js";

/** What a test says of its listener. */
export interface RequestHandlerOptions {
  readonly decision?: Partial<DecisionConfig>;
  readonly config?: Partial<Config>;
  readonly rules?: readonly object[];
  readonly store?: Store;
  readonly telemetry?: Telemetry;
  readonly keyResolver?: KeyResolver;
}

/** An answer, read. */
export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Record<string, unknown>;
}

/** A listener, and how tests ask it. */
export interface TestListener {
  readonly listener: Listener;
  readonly core: OwnedCore;
  readonly clock: ManualClock;
  /** Posts JSON, or a string as it is. */
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Answered>;
  get(path: string, init?: RequestInit): Promise<Answered>;
  close(): Promise<void>;
}

/** Opens a listener with one rule, 10 requests a minute for each address, unless the test says otherwise. */
export async function openTestListener(options: RequestHandlerOptions = {}): Promise<TestListener> {
  const clock = new ManualClock(Date.UTC(2026, 0, 1));
  const listen = { host: "127.0.0.1", port: 0 };
  const decision = {
    listen,
    tokens: [],
    forwardAuth: true,
    bodyBytesMax: 1_048_576,
    ...options.decision,
  };
  const rules = options.rules && { inline: { version: 1, rules: options.rules } };
  const config = toTestConfig({ decision, ...(rules && { rules }), ...options.config });
  const { store, telemetry, keyResolver } = options;
  const core = createCore(config, {
    clock,
    ...(store && { store }),
    ...(telemetry && { telemetry }),
    ...(keyResolver && { keyResolver }),
  });
  const listener = await openDecision(core);
  const ask = async (path: string, init?: RequestInit): Promise<Answered> => {
    const response = await fetch(`${listener.url}${path}`, init);
    const text = await response.text();
    const body = text === "" ? {} : (JSON.parse(text) as Record<string, unknown>);
    return { status: response.status, headers: response.headers, body };
  };
  return {
    listener,
    core,
    clock,
    get: ask,
    post: (path, body, headers = {}) =>
      ask(path, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: typeof body === "string" ? body : JSON.stringify(body),
      }),
    close: async () => {
      await listener.close();
      await core.close();
    },
  };
}

/** The same, closed by `stopAll`. */
export async function openUntilStop(options?: RequestHandlerOptions): Promise<TestListener> {
  const test = await openTestListener(options);
  onStop(() => test.close());
  return test;
}

/** A store that fails until it is mended. */
export class BrokenStore extends ForwardingStore {
  isBroken = true;

  constructor() {
    super(memoryStore());
  }

  override decide(...args: Parameters<Store["decide"]>): ReturnType<Store["decide"]> {
    this.#mustWork();
    return super.decide(...args);
  }

  override decideOne(
    ...args: Parameters<ForwardingStore["decideOne"]>
  ): ReturnType<ForwardingStore["decideOne"]> {
    this.#mustWork();
    return super.decideOne(...args);
  }

  #mustWork(): void {
    if (this.isBroken) throw new SluiceError("SLUICE_STORE_UNAVAILABLE", "it is gone");
  }
}
