// What a reader has to know of logs to judge figures about them, whatever was counted.

import type { LoggedClients } from "../../access-logs/logged-clients.js";
import type { ReadSummary } from "../../access-logs/reading/read-logs.js";
import { REORDER_BOUNDS } from "../../access-logs/reading/reorder-buffer.js";

const LINES_MAX = REORDER_BOUNDS.linesMax.toLocaleString("en-GB");

/**
 * Remarks on logs that were read, without a full stop.
 *
 * @param clients - What found clients behind proxies; undefined if no proxy is trusted.
 */
export function* remarksOnLog(
  { files, lines, malformed, late, lateForRoom, isWholeSeconds }: ReadSummary,
  clients: LoggedClients | undefined,
): Generator<string> {
  for (const { name, problem } of files)
    if (problem !== null) yield `${name} is ${problem}; what came before it is counted`;
  if (late > lateForRoom)
    yield `${late - lateForRoom} lines came later than the window of --reorder and were decided as if they had come in order; logs of several servers have to be merged first`;
  if (lateForRoom > 0)
    yield `${lateForRoom} lines came within the window of --reorder, but only ${LINES_MAX} lines can wait for older ones; they were decided as if they had come in order`;
  if (isWholeSeconds && lines - malformed > 1)
    yield "times in the log are whole seconds, so limits for a second or less are judged as if all requests of a second came in the same instant";
  if (clients?.isForwarded === false && lines > malformed)
    yield "no line has X-Forwarded-For, so --trusted-proxies changes nothing: callers are the addresses in the log";
}
