// A module of the library, bundled for a browser as an application's build would bundle it.

import { rolldown } from "rolldown";

/** What a bundle consists of. */
export interface BrowserBundle {
  readonly code: string;
  /** Modules that it still imports: those of Node.js, if there are any. */
  readonly imports: readonly string[];
  readonly exports: readonly string[];
}

/** Bundles all that a module exports. */
export async function bundleForBrowser(specifier: string): Promise<BrowserBundle> {
  const bundle = await rolldown({
    input: "entry",
    platform: "browser",
    treeshake: false,
    external: /^node:/,
    logLevel: "silent",
    plugins: [
      {
        name: "entry",
        resolveId: (id) => (id === "entry" ? id : undefined),
        load: (id) => (id === "entry" ? `export * from ${JSON.stringify(specifier)};` : undefined),
      },
    ],
  });
  const { output } = await bundle.generate({ format: "es" });
  return output[0];
}
