// The listener for Envoy: its rate limit service, version 3, with the files of envoyproxy/ratelimit as they are.
// What is read from them can change while it is open; what was counted stays.

import { dirname, resolve } from "node:path";
import { after } from "../base/clock.js";
import { ServerError } from "../base/errors.js";
import { POLL_MS, watchFiles } from "../base/files/watch-files.js";
import { toReloadLog } from "../base/tls/tls-files.js";
import type { Core, Listener } from "../core/core.js";
import type { Telemetry } from "../telemetry/telemetry.js";
import { Decider } from "./decider.js";
import { type LoadedFiles, loadFiles, lookAtFiles } from "./file/load.js";
import { openGrpc } from "./grpc/grpc.js";
import { openHttp } from "./http/http.js";
import { EnvoyLimiter } from "./limiter/limiter.js";
import { ListedAddresses } from "./limiter/listed-addresses.js";
import { EnvoyRules, type EnvoyRulesOptions } from "./match/descriptor-tree.js";
import { deadlineOf, TIMEOUT_MS, toEnvoyStore } from "./store.js";

/** How long clients have to learn that the server drains before it takes no more connections. */
const NOTICE_MS = 500;

/** The open listener for Envoy. `url` is that of gRPC, `httpUrl` that of `POST /json`. */
export interface EnvoyListener extends Listener {
  /**
   * Reads the files again. Invalid files change nothing and are reported to telemetry; this never
   * rejects.
   */
  reload(): Promise<void>;
}

/** Options for callers other than the service. */
export interface EnvoyOptions {
  /** How long a store behind a network may take; default 15, since Envoy waits for 20. */
  readonly storeTimeoutMs?: number;
  /** How often files are looked at; default 1,000. */
  readonly pollMs?: number;
}

/**
 * Opens the listener for Envoy.
 *
 * @throws ServerError if a file can't be used, or an address can't be listened at.
 */
export async function openEnvoy(core: Core, options: EnvoyOptions = {}): Promise<EnvoyListener> {
  const { storeTimeoutMs = TIMEOUT_MS, pollMs = POLL_MS } = options;
  const config = core.config.envoy;
  if (config === undefined)
    throw new ServerError("SLUICE_CONFIG_INVALID", "the envoy section is missing");
  const folder = core.config.file === undefined ? "." : dirname(core.config.file);
  const paths = config.files.map((file) => resolve(folder, file));
  const mark = await lookAtFiles(paths);
  const store = toEnvoyStore(core, storeTimeoutMs);
  const timeoutMs = deadlineOf(core, storeTimeoutMs);
  const load = () => loadFiles(paths, config);
  const read = (before?: EnvoyRules) => readRules(load, core.telemetry, { before, timeoutMs });
  const limiter = new EnvoyLimiter({
    store,
    clock: core.clock,
    rules: await read(),
    onDecided: (isAllowed, limitVerdicts) =>
      core.telemetry.decidedByLimits("envoy", isAllowed, limitVerdicts),
    clients: new ListedAddresses(core.policy, (decision) =>
      core.telemetry.refusedByOperator("envoy", decision),
    ),
    modes: { shadow: config.shadowMode, isQuota: config.quotaMode },
    style: config,
  });
  const decider = new Decider(limiter, core.telemetry);
  const grpc = await openGrpc(config, decider, toReloadLog(core.telemetry.log, "of gRPC"));
  const http =
    config.http === undefined
      ? undefined
      : await openHttp(config.http, decider, grpc.health).catch((error) => {
          grpc.close();
          throw error;
        });
  const reload = toReload(limiter, read, core.telemetry);
  const stopWatching = watchFiles(() => lookAtFiles(paths), { mark, pollMs, onChange: reload });
  let announced: Promise<void> | undefined;
  const announceDrain = () => {
    grpc.health.stop();
    const noticeMs = Math.min(NOTICE_MS, core.config.drainMs / 2);
    announced ??= new Promise((resolve) => after(noticeMs, resolve));
    return announced;
  };
  const close = async () => {
    stopWatching();
    grpc.close();
    http?.close();
    await store.close();
  };
  return {
    name: "envoy",
    url: grpc.url,
    httpUrl: http?.url,
    reload: () => {
      grpc.reload();
      return reload();
    },
    announceDrain,
    stopListening: () => {
      grpc.stopListening();
      http?.stopListening();
    },
    drain: async () => {
      stopWatching();
      await announceDrain();
      await Promise.all([grpc.drain(), http?.drain()]);
    },
    close,
  };
}

/** Reloads one after the other, so that the files as they are last win. */
function toReload(
  limiter: EnvoyLimiter,
  read: (before: EnvoyRules) => Promise<EnvoyRules>,
  telemetry: Telemetry,
): () => Promise<void> {
  let latest: Promise<void> = Promise.resolve();
  const reloadOnce = async () => {
    try {
      limiter.replace(await read(limiter.rules));
      telemetry.reloaded("envoy");
    } catch (error) {
      telemetry.reloaded("envoy", error);
    }
  };
  return () => {
    latest = latest.then(reloadOnce);
    return latest;
  };
}

async function readRules(
  load: () => Promise<LoadedFiles>,
  telemetry: Telemetry,
  options: EnvoyRulesOptions,
): Promise<EnvoyRules> {
  const { domains, warnings } = await load();
  for (const warning of warnings) telemetry.log.warn({ listener: "envoy" }, warning);
  return new EnvoyRules(domains, options);
}
