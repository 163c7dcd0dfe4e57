// House rules that need more than one file: what the documents say has to be
// there, and what is there has to be in the documents.

import { posix } from "node:path";
import { type Complaint, complain } from "./rule.js";

const dependencyPage = "docs/dependencies.md";

/** Each dependency has its sentence in docs/dependencies.md, and each sentence its dependency. */
export function explainsDependencies(files: ReadonlyMap<string, string>): Complaint[] {
  const used = dependenciesOf(files);
  const page = files.get(dependencyPage) ?? "";
  const explained = new Map(
    [...page.matchAll(/^- `([^`]+)`: .+/gm)].map((match) => [match[1] as string, match.index]),
  );
  const missing = [...used]
    .filter(([name]) => !explained.has(name))
    .map(([name, path]) => `${path}:1: ${name} has no sentence in ${dependencyPage}`);
  const stale = [...explained]
    .filter(([name]) => !used.has(name))
    .map(([name, offset]) => complain(dependencyPage, page, offset, `nothing depends on ${name}`));
  return [...missing, ...stale];
}

/** Relative links in Markdown lead to a file or folder of the repository. */
export function linksLeadSomewhere(files: ReadonlyMap<string, string>): Complaint[] {
  const known = new Set([...files.keys()].flatMap(withFolders));
  const pages = [...files].filter(([path]) => path.endsWith(".md"));
  const anchors = new Map(pages.map(([path, text]) => [path, anchorsOf(text)]));
  return pages.flatMap(([path, text]) =>
    linksOf(text)
      .filter(({ target }) => {
        const [file = "", anchor] = target.split("#");
        const place = file === "" ? path : posix.join(posix.dirname(path), file);
        if (!known.has(place)) return true;
        return anchor !== undefined && anchors.get(place)?.has(anchor) === false;
      })
      .map(({ target, offset }) => complain(path, text, offset, `"${target}" leads nowhere`)),
  );
}

/** What links to parts of a page can name: its headings as GitHub writes them, and ids that it sets itself. */
function anchorsOf(text: string): ReadonlySet<string> {
  const anchors = new Set<string>();
  const prose = text.replace(/^```[\s\S]*?^```/gm, "");
  for (const [, heading = ""] of prose.matchAll(/^#+ +(.*)$/gm)) {
    const base = toAnchor(heading);
    let anchor = base;
    for (let count = 1; anchors.has(anchor); count++) anchor = `${base}-${count}`;
    anchors.add(anchor);
  }
  for (const [, id = ""] of prose.matchAll(/<a (?:id|name)="([^"]+)"/g)) anchors.add(id);
  return anchors;
}

function toAnchor(heading: string): string {
  return heading
    .trim()
    .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M}_ -]/gu, "")
    .replaceAll(" ", "-");
}

function dependenciesOf(files: ReadonlyMap<string, string>): Map<string, string> {
  const manifests = [...files]
    .filter(([path]) => posix.basename(path) === "package.json")
    .map(([path, text]) => ({ path, manifest: JSON.parse(text) as Manifest }));
  const own = new Set(manifests.map(({ manifest }) => manifest.name));
  const used = new Map<string, string>();
  for (const { path, manifest } of manifests)
    for (const kind of dependencyKinds)
      for (const name of Object.keys(manifest[kind] ?? {}))
        if (!own.has(name)) used.set(name, path);
  return used;
}

const dependencyKinds = [
  "dependencies",
  "devDependencies",
  "optionalDependencies",
  "peerDependencies",
  "overrides",
] as const;

type Manifest = { name?: string } & Partial<
  Record<(typeof dependencyKinds)[number], Record<string, unknown>>
>;

function linksOf(text: string): { target: string; offset: number }[] {
  const prose = text.replace(/^```[\s\S]*?^```|`[^`\n]*`/gm, (code) => code.replace(/[^\n]/g, " "));
  return [...prose.matchAll(/\]\(([^)\s]+)[^)]*\)|^\[[^\]]+\]:\s*(\S+)/gm)]
    .map((match) => ({ target: match[1] ?? (match[2] as string), offset: match.index }))
    .filter(({ target }) => !/^[a-z]+:/.test(target));
}

function withFolders(path: string): string[] {
  const parts = path.split("/");
  return parts.flatMap((_, index) => {
    const here = parts.slice(0, index + 1).join("/");
    return [here, `${here}/`];
  });
}
