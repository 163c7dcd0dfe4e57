// The listeners of a service as one: opened together, drained within a bound, closed together.

import { after } from "../base/clock.js";
import type { Core, Listener } from "../core/core.js";

/** How long the last answers of the admin port may take. */
const ADMIN_DRAIN_MS_MAX = 1_000;

/** Opens a listener of a core. */
export type ListenerOpener = (core: Core) => Promise<Listener>;

/** Opens all listeners or none: if one can't be opened those that were are closed, and its error is thrown. */
export async function openListeners(
  core: Core,
  openers: readonly ListenerOpener[],
): Promise<Listener[]> {
  const results = await Promise.allSettled(openers.map((open) => open(core)));
  const listeners = results.flatMap((result) =>
    result.status === "fulfilled" ? [result.value] : [],
  );
  const failed = results.find((result) => result.status === "rejected");
  if (failed === undefined) return listeners;
  await closeListeners(listeners);
  throw failed.reason;
}

/** Makes the health checks of these listeners fail, so that clients go elsewhere; they serve as before. */
export async function announceDrain(listeners: readonly Listener[]): Promise<void> {
  await Promise.all(listeners.map((listener) => listener.announceDrain?.()));
}

/** Takes no further connections at any of these listeners. */
export function stopListening(listeners: readonly Listener[]): void {
  for (const listener of listeners) listener.stopListening();
}

/**
 * Lets requests under way end. Returns the names of listeners that had not drained within `drainMs`, or that
 * failed to: something may be cut off when they are closed.
 */
export async function drainListeners(
  listeners: readonly Listener[],
  drainMs: number,
): Promise<readonly string[]> {
  const open = new Set(listeners.map(({ name }) => name));
  // A listener that fails is closed with the others, and must not cut their wait short.
  const drained = Promise.allSettled(
    listeners.map(async (listener) => {
      await listener.drain();
      open.delete(listener.name);
    }),
  );
  await within(drainMs, drained);
  return [...open];
}

/**
 * Drains the listeners that serve requests within `drainMs`, and then, when `others` have drained too, the admin
 * port: meanwhile it reports that readiness fails. Returns what {@link drainListeners} does for those that serve.
 */
export async function drainAll(
  listeners: readonly Listener[],
  drainMs: number,
  others: Promise<readonly string[]> = Promise.resolve([]),
): Promise<readonly string[]> {
  const isAdmin = ({ name }: Listener) => name === "admin";
  const serving = listeners.filter((listener) => !isAdmin(listener));
  const late = await Promise.all([others, drainListeners(serving, drainMs)]);
  await drainListeners(listeners.filter(isAdmin), ADMIN_DRAIN_MS_MAX);
  return late.flat();
}

/** Closes all listeners, each whatever becomes of the others. */
export async function closeListeners(listeners: readonly Listener[]): Promise<void> {
  await Promise.allSettled(listeners.map((listener) => listener.close()));
}

/** Resolves when `task` has, or after `ms`. */
async function within(ms: number, task: Promise<unknown>): Promise<void> {
  await new Promise<void>((resolve) => {
    const cancel = after(ms, resolve);
    task.finally(() => {
      cancel();
      resolve();
    });
  });
}
