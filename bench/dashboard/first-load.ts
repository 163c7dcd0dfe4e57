// Which files a browser fetches before the dashboard shows its first page: the page itself, the scripts and style sheets
// that it names, and what those scripts import. What they load on demand is left out.

import { readFileSync, statSync } from "node:fs";
import { join, posix } from "node:path";
import { gunzipSync } from "node:zlib";

/** A file of the first load. */
export interface LoadedFile {
  readonly name: string;
  /** As it is sent, compressed with gzip. */
  readonly bytes: number;
}

const FILES_MAX = 100;

/** The files of the first load, from a folder with a built dashboard. */
export function firstLoadOf(folder: string): LoadedFile[] {
  const names = ["index.html"];
  for (let at = 0; at < names.length; at++) {
    if (names.length > FILES_MAX) throw new Error(`more than ${FILES_MAX} files in ${folder}`);
    const name = names[at];
    const text = gunzipSync(readFileSync(join(folder, `${name}.gz`))).toString();
    const named = name.endsWith(".html") ? namedBy(text) : importedBy(name, text);
    for (const next of named) if (!names.includes(next)) names.push(next);
  }
  return names.map((name) => ({ name, bytes: statSync(join(folder, `${name}.gz`)).size }));
}

/** Scripts, style sheets and the icon of a page. */
export function namedBy(html: string): string[] {
  const found = html.matchAll(/(?:src|href)="(?:\/dashboard\/|\.\/)([^"]+)"/g);
  return [...found].map(([, name]) => name);
}

/** What a script imports before it runs: `import"./a.js"`, `import{b}from"./b.js"`, `export*from"./c.js"`. */
export function importedBy(name: string, script: string): string[] {
  if (!name.endsWith(".js")) return [];
  const found = script.matchAll(/(?:\bimport|\bfrom)\s*["'](\.\.?\/[^"']+)["']/g);
  return [...found].map(([, path]) => posix.join(posix.dirname(name), path));
}
