// What the log says about backends of upstreams whose state changed.

import type { Logger } from "pino";
import type { UpstreamOutcome } from "../reported.js";

/** Logs a backend that is ejected or has returned; nothing for other outcomes. */
export function logUpstream(
  log: Logger,
  upstream: string,
  outcome: UpstreamOutcome,
  backend: string | undefined,
): void {
  const line = { upstream, backend };
  if (outcome === "ejected") log.warn(line, "backend keeps failing; ejected for a while");
  else if (outcome === "returned") log.info(line, "backend answers again");
}
