// `sluice ledger export`: entries as CSV, JSON or NDJSON, streamed to standard output or to a file. On a terminal, a
// progress bar is shown while the entries go elsewhere.

import { createWriteStream } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { Writable } from "node:stream";
import { finished } from "node:stream/promises";
import type { Command } from "commander";
import { ENTRIES_HEADER } from "../../../admin/replies/reply-schemas.js";
import { EXPORT_FORMATS } from "../../../ledger/queries/entry-export.js";
import type { AdminStream } from "../../admin-client/admin-client.js";
import { CommandError, EXIT, usageError } from "../../exit.js";
import { ProgressBar } from "../../terminal/progress-bar.js";
import type { Terminal } from "../../terminal/terminal.js";
import type { CommandParts } from "../command-parts.js";
import { addVerb, toListPath, type VerbRun } from "../control/control-verb.js";

interface ExportFlags {
  readonly from: string;
  readonly to: string;
  readonly tenant?: string;
  readonly meter?: string;
  readonly format: string;
  readonly output?: string;
}

const NEWLINE = 0x0a;
const FORMATS: ReadonlySet<string> = new Set(EXPORT_FORMATS);

/** Adds `export` to `ledger`. */
export function addExportCommand(ledger: Command, parts: CommandParts): void {
  addVerb<ExportFlags>(ledger, parts, {
    usage: "export",
    description: "write the entries of a time span as CSV, JSON or NDJSON",
    required: [
      ["--from <time>", "a day such as 2026-05-01 (UTC) or a time such as 2026-05-01T09:30:00Z"],
      ["--to <time>", "up to, but not including, this day or time"],
      ["--format <format>", "csv, json (one list) or ndjson (a line for each entry)"],
    ],
    options: [
      ["--tenant <tenant>", "only entries of this tenant"],
      ["--meter <rule>", "only entries of this rule"],
      ["--output <file>", "write to this file, which appears once it is complete"],
    ],
    about:
      "In CSV, strings that a spreadsheet would read as a formula start with an apostrophe. JSON has them unchanged.",
    examples: [
      "ledger export --from 2026-05-01 --to 2026-06-01 --format csv --output may.csv",
      "ledger export --from 2026-05-01 --to 2026-06-01 --tenant acme --meter exports --format json",
    ],
    run: async (asking) => {
      const { from, to, tenant, meter, format, output } = asking.flags;
      if (!FORMATS.has(format))
        throw usageError(`--format must be csv, json or ndjson, got ${JSON.stringify(format)}`);
      const filters = { from, to, tenant, meter, format };
      const stream = await asking.client.stream(toListPath("/v1/ledger/export", {}, filters));
      if (output === undefined) await copyOut(asking, stream);
      else await copyToFile(asking, stream, output);
    },
  });
}

async function copyOut({ terminal }: VerbRun<unknown>, stream: AdminStream): Promise<void> {
  const decoder = new TextDecoder();
  // What is printed on a terminal and a bar on the same one would run into each other.
  const bar = new EntriesBar(terminal, stream, !terminal.isTty);
  for await (const chunk of stream.chunks) {
    terminal.write(decoder.decode(chunk, { stream: true }));
    await terminal.drain();
    bar.add(chunk);
  }
  bar.end();
}

/** The file appears when all of it is there: half an export is easily taken for a whole one. */
async function copyToFile(
  { terminal }: VerbRun<unknown>,
  stream: AdminStream,
  path: string,
): Promise<void> {
  const part = `${path}.part`;
  const bar = new EntriesBar(terminal, stream, true);
  try {
    const file = createWriteStream(part, { flags: "wx" });
    const sink = Writable.toWeb(file).getWriter();
    for await (const chunk of stream.chunks) {
      await sink.ready;
      await sink.write(chunk);
      bar.add(chunk);
    }
    await sink.close();
    await finished(file);
    await rename(part, path);
  } catch (error) {
    const { code } = error as { code?: string };
    if (code !== "EEXIST") await rm(part, { force: true });
    if (code === undefined || error instanceof CommandError) throw error;
    const hint =
      code === "EEXIST"
        ? `${part} is there already: another export, or one that was cut off`
        : (error as Error).message;
    throw new CommandError(EXIT.usage, `${path} can't be written: ${hint}`);
  }
  bar.end();
}

/** Draws how many of the entries have come. */
class EntriesBar {
  readonly #bar: ProgressBar;

  constructor(terminal: Terminal, { headers }: AdminStream, mayShow: boolean) {
    const total = Number(headers.get(ENTRIES_HEADER) ?? 0);
    this.#bar = new ProgressBar(terminal, { total, say: sayEntries }, mayShow);
  }

  add(chunk: Uint8Array): void {
    if (!this.#bar.isShown) return;
    let lines = 0;
    for (const byte of chunk) if (byte === NEWLINE) lines++;
    this.#bar.add(lines);
  }

  end(): void {
    this.#bar.end();
  }
}

function sayEntries(done: number, total: number): string {
  return `${done.toLocaleString("en-GB")} of ${total.toLocaleString("en-GB")} entries`;
}
