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
  { files, lines, malformed, isWholeSeconds, ...late }: ReadSummary,
  clients: LoggedClients | undefined,
): Generator<string> {
  for (const { name, problem } of files)
    if (problem !== null) yield `${name} is ${problem}; what came before it is counted`;
  yield* remarksOnLate(late);
  if (isWholeSeconds && lines - malformed > 1)
    yield "times in the log are whole seconds, so limits for a second or less are judged as if all requests of a second came in the same instant";
  if (clients?.isForwarded === false && lines > malformed)
    yield "no line has X-Forwarded-For, so --trusted-proxies changes nothing: callers are the addresses in the log";
}

function* remarksOnLate({
  late,
  lateForRoom,
  farAhead,
}: Pick<ReadSummary, "late" | "lateForRoom" | "farAhead">): Generator<string> {
  const afterWindow = late - lateForRoom - farAhead;
  if (afterWindow > 0)
    yield `${countLines(afterWindow)} came later than the window of --reorder, and got the time of the newest line so far; logs of several servers have to be merged first`;
  if (lateForRoom > 0)
    yield `${countLines(lateForRoom)} came within the window of --reorder, but got the time of the newest line so far, because only ${LINES_MAX} lines can wait for older ones`;
  if (farAhead === 1)
    yield "1 line had a time far ahead of the lines after it, and got the time of the newest line so far";
  if (farAhead > 1)
    yield `${countLines(farAhead)} had times far ahead of the lines after them, and got the time of the newest line so far`;
}

function countLines(count: number): string {
  return count === 1 ? "1 line" : `${count.toLocaleString("en-GB")} lines`;
}
