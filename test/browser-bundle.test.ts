// What the playground and code in workers import must be free of Node.js: these entries are bundled for a browser.

import { rolldown } from "rolldown";
import { describe, expect, it } from "vitest";

describe("in a bundle for browsers", () => {
  it.each(["sluice", "sluice/response", "sluice/testing"])(
    "%s imports nothing of Node.js",
    async (specifier) => {
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
            load: (id) =>
              id === "entry" ? `export * from ${JSON.stringify(specifier)};` : undefined,
          },
        ],
      });
      const { output } = await bundle.generate({ format: "es" });
      expect(output[0].imports).toEqual([]);
      expect(output[0].exports.length).toBeGreaterThan(0);
    },
  );
});
