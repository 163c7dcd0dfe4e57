// Strings of a reading, cut to the lengths that a control node takes.

import {
  NODE_NOTICE_LENGTH_MAX,
  NODE_STRING_LENGTH_MAX,
} from "../../../telemetry/live/node-second.js";

/** A name, a path or another short string; one that is too long ends in an ellipsis. */
export function cut(text: string): string {
  return cutAt(text, NODE_STRING_LENGTH_MAX);
}

/** The same for the text of a notice. */
export function cutNotice(text: string): string {
  return cutAt(text, NODE_NOTICE_LENGTH_MAX);
}

function cutAt(text: string, lengthMax: number): string {
  return text.length <= lengthMax ? text : `${text.slice(0, lengthMax - 1)}…`;
}
