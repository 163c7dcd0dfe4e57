// Runs scripts on a server and handles its failures. A call that the server refused before doing anything is sent
// again, a few times and soon; a call whose reply was lost may have taken effect, so it is not repeated. A call that
// stays unanswered becomes an error that says what was seen.

import { startTimer, systemClock } from "../../../base/clock.js";
import { SluiceError } from "../../../base/errors.js";
import { fencedError } from "../../fence-store.js";
import type { RedisPort } from "../client/redis-port.js";
import type { Script } from "../lua/scripts.js";
import { checkServer } from "../server-check.js";

/** A call of a script. */
export interface ScriptCall {
  readonly script: Script;
  readonly keys: readonly string[];
  readonly args: readonly string[];
  /** Whether its caller no longer waits for it. */
  readonly isAbandoned?: () => boolean;
}

/** A connection was lost while an answer was awaited: what was asked may have happened or not. */
export class LostReply extends SluiceError {
  constructor(cause: unknown) {
    super("SLUICE_STORE_UNAVAILABLE", `the connection was lost (${messageOf(cause)})`);
    this.cause = cause;
  }
}

/** The server's time lies outside the calendar periods that came with the call. */
export class PeriodUnknown extends Error {
  readonly nowMs: number;

  constructor(nowMs: number) {
    super("the calendar periods of this moment are needed");
    this.nowMs = nowMs;
  }
}

const TRIES_MAX = 8;
const PAUSE_MS_MIN = 2;
const PAUSE_MS_MAX = 50;
const READY_MS_MAX = 1_000;
/** Errors of a server that has not done anything of what was asked, and may do it soon. */
const NOT_NOW = /^(LOADING|BUSY|TRYAGAIN|CLUSTERDOWN|MASTERDOWN|READONLY|MOVED|ASK|NOSCRIPT)\b/;
/** A user that may run scripts but not INFO: what the server is then stays unknown. */
const INFO_REFUSED = /^(NOPERM|ERR unknown command)/;
/** What clients say about a command that they did not send. */
const NOT_SENT = /^(Stream isn't writeable|The client is (closed|offline))/;
/** How a server's own words begin: what they say no to was not done, or not to its end. */
const REFUSED = /^[A-Z][A-Z0-9]+ /;

/** Runs scripts on a server through a client. */
export class Calls {
  readonly #port: RedisPort;
  readonly #onWarning: (message: string) => void;
  #checked: Promise<void> | undefined;
  #isChecked = false;
  #readied: Promise<void> | undefined;
  #connecting: Promise<void> | undefined;

  constructor(port: RedisPort, onWarning: (message: string) => void) {
    this.#port = port;
    this.#onWarning = onWarning;
  }

  /** Runs a script; rejects with a SluiceError, or {@link PeriodUnknown}. */
  run(call: ScriptCall): Promise<unknown> {
    if (!this.#port.isReady || !this.#isChecked) return this.#tryOften(call);
    // The way of nearly all calls, with as few turns as there can be.
    return this.#port
      .evalSha(call.script.sha1, call.keys, call.args)
      .catch((error: unknown) => this.#tryOften(call, error));
  }

  /** Goes on after `failed`, if there was a first try. */
  async #tryOften(call: ScriptCall, failed?: unknown): Promise<unknown> {
    for (let attempt = 1; ; attempt++) {
      try {
        if (attempt === 1 && failed !== undefined) return await this.#sendAfter(call, failed);
        if (!this.#port.isReady) await this.#ready();
        if (!this.#isChecked) await this.#check();
        if (call.isAbandoned?.() === true) throw new Error("the caller no longer waits");
        return await this.#send(call);
      } catch (error) {
        const mayPass = attempt < TRIES_MAX && call.isAbandoned?.() !== true;
        if (!mayPass || !this.#isNotNow(error)) throw toFailure(error);
      }
      await pause(Math.min(PAUSE_MS_MIN * 2 ** (attempt - 1), PAUSE_MS_MAX));
      if (call.isAbandoned?.() === true) throw toFailure(new Error("the caller no longer waits"));
    }
  }

  #send(call: ScriptCall): Promise<unknown> {
    return this.#port
      .evalSha(call.script.sha1, call.keys, call.args)
      .catch((error: unknown) => this.#sendAfter(call, error));
  }

  /** After a restart or a failover the server has to be sent the script. */
  #sendAfter({ script, keys, args }: ScriptCall, error: unknown): Promise<unknown> {
    if (!messageOf(error).startsWith("NOSCRIPT")) return Promise.reject(error);
    return this.#port.eval(script.source, keys, args);
  }

  #isNotNow(error: unknown): boolean {
    const message = messageOf(error);
    // A replica that was the primary before: the new one has to be found.
    if (/\bREADONLY\b/.test(message)) {
      this.#port.reconnect();
      return true;
    }
    return NOT_NOW.test(message) || NOT_SENT.test(message);
  }

  /** Waits for the connection, for a bounded time; all that wait do it together. */
  #ready(): Promise<void> {
    // Where an attempt has failed the next may be seconds away; the reason is worth more than a wait.
    if (this.#port.reason !== undefined) return Promise.reject(noConnection(this.#port.reason));
    this.#readied ??= new Promise<void>((resolve, reject) => {
      const cancel = startTimer(systemClock, READY_MS_MAX, () =>
        reject(noConnection(this.#port.reason)),
      );
      this.#connected().then(resolve, reject).finally(cancel);
    }).finally(() => {
      this.#readied = undefined;
    });
    return this.#readied;
  }

  /** One wait on the client for as long as an outage lasts: each leaves listeners on it. */
  #connected(): Promise<void> {
    this.#connecting ??= this.#port.whenReady().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  /** Looks at the server, once. */
  #check(): Promise<void> {
    this.#checked ??= this.#port
      .info()
      .then((info) => {
        const { warning } = checkServer(info);
        this.#isChecked = true;
        if (warning !== undefined) this.#warn(warning);
      })
      .catch((error: unknown) => {
        // The next call looks again: the server may have been replaced by then.
        this.#checked = undefined;
        if (!INFO_REFUSED.test(messageOf(error))) throw error;
        this.#isChecked = true;
        this.#warn(`the server can't be looked at (${messageOf(error)})`);
      });
    return this.#checked;
  }

  #warn(warning: string): void {
    try {
      this.#onWarning(warning);
    } catch {
      // A listener that throws is its author's affair: decisions go on.
    }
  }
}

function toFailure(error: unknown): Error {
  if (error instanceof SluiceError) return error;
  const message = messageOf(error);
  const period = /^SLUICEPERIOD (\d+)/.exec(message);
  if (period !== null) return new PeriodUnknown(Number(period[1]));
  const fenced = /^SLUICEFENCED (.*)/.exec(message);
  if (fenced !== null) return fencedError(fenced[1]);
  if (!NOT_NOW.test(message) && !REFUSED.test(message)) return new LostReply(error);
  const failure = new SluiceError("SLUICE_STORE_UNAVAILABLE", message);
  failure.cause = error;
  return failure;
}

function noConnection(reason: string | undefined): SluiceError {
  const seen = reason === undefined ? "" : ` (${reason})`;
  return new SluiceError("SLUICE_STORE_UNAVAILABLE", `there is no connection${seen}`);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    startTimer(systemClock, ms, resolve);
  });
}
