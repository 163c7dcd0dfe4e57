// What is measured and logged of each store of a service: its own, that of the home region, and the ledger.

import type { Logger } from "pino";
import type { FallbackEvent } from "sluice";
import type { StoreName } from "../reported.js";
import { FallbackTime } from "./counts.js";
import { StoreTimes } from "./measured-store.js";

/** Stores, as the log speaks of them. */
const NAMES: Readonly<Record<StoreName, string>> = {
  store: "store",
  home: "home region",
  ledger: "ledger",
};

/** The times of the calls to each store. `report` is called with each that failed. */
export function storeTimesOf(
  report: (message: string, error: unknown, fields: { operation: string }) => void,
): Readonly<Record<StoreName, StoreTimes>> {
  const of = (message: string) =>
    new StoreTimes((operation, error) => report(message, error, { operation }));
  return {
    store: of("store call failed"),
    home: of("call to the home region failed"),
    ledger: of("ledger call failed"),
  };
}

/** For how long the circuit breaker of each store was open. */
export function fallbackTimesOf(readMs: () => number): Readonly<Record<StoreName, FallbackTime>> {
  return {
    store: new FallbackTime(readMs),
    home: new FallbackTime(readMs),
    ledger: new FallbackTime(readMs),
  };
}

/** Says in the log that a circuit breaker opened, is still open or has closed. */
export function logFallback(log: Logger, event: FallbackEvent, of: StoreName): void {
  const { kind, reason, atMs, sinceMs } = event;
  const line = { fallback: kind, reason, lastedMs: atMs - sinceMs };
  const breaker =
    of === "store" ? "the circuit breaker" : `the circuit breaker of the ${NAMES[of]}`;
  if (kind === "left") log.info(line, `the ${NAMES[of]} answers again`);
  else if (kind === "entered") log.error(line, `${breaker} is open`);
  else log.error(line, `${breaker} is still open`);
}
