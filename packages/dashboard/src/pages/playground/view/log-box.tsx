// The field for a log, and what was read from it.

import { useId, useState } from "preact/hooks";
import { formatCount } from "../../../ui/formats/format.js";
import { type LoggedRequest, type ReadLog, readLog } from "../model/read-log.js";
import { DEFAULTS } from "../model/settings.js";
import { toQuery } from "../model/view-url.js";

const EXAMPLE = `203.0.113.7 - - [16/Nov/2026:12:00:01 +0000] "GET /search HTTP/1.1" 200 512
2026-11-16T12:00:02.250Z
1763294403`;

interface LogBoxProps {
  readonly log: readonly LoggedRequest[];
  onRead(log: readonly LoggedRequest[]): void;
}

/** The field. */
export function LogBox({ log, onRead }: LogBoxProps) {
  const id = useId();
  const [text, setText] = useState("");
  const [read, setRead] = useState<ReadLog>();
  const change = (value: string) => {
    const found = readLog(value);
    setText(value);
    setRead(found);
    onRead(found.requests);
  };
  return (
    <div class="field playground-log">
      <label for={id}>Lines of a log, with a time in each</label>
      <textarea
        id={id}
        rows={5}
        spellcheck={false}
        placeholder={EXAMPLE}
        value={text}
        aria-describedby={`${id}-note`}
        onInput={({ currentTarget }) => change(currentTarget.value)}
      />
      <p id={`${id}-note`} class="hint" aria-live="polite">
        {say(read, log)}
      </p>
    </div>
  );
}

function say(read: ReadLog | undefined, log: readonly LoggedRequest[]): string {
  if (read === undefined && log.length > 0)
    return `${formatCount(log.length)} requests came with the link.`;
  if (read === undefined)
    return "Timestamps (ISO 8601, seconds or milliseconds since 1970) or lines of an access log. The log stays in this page.";
  const { requests, malformed, firstMalformed, leftOut } = read;
  const said = [`${formatCount(requests.length)} requests read.`];
  if (firstMalformed !== undefined)
    said.push(
      `No time found in ${formatCount(malformed)} ${malformed === 1 ? "line" : "lines"}; the first is line ${firstMalformed.line}: ${firstMalformed.text}`,
    );
  if (leftOut > 0) said.push(`${formatCount(leftOut)} more lines were left out.`);
  if (requests.length > 0 && !isInUrl(requests))
    said.push("Too long for the link: it leaves the log out.");
  return said.join(" ");
}

function isInUrl(log: readonly LoggedRequest[]): boolean {
  const settings = { ...DEFAULTS, shape: "log" as const };
  return toQuery({ settings, log, at: undefined }).includes("log=");
}
