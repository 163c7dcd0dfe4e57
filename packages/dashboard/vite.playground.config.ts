// How the playground is built as a site of its own: static files with relative addresses, for any host.

import { join } from "node:path";
import { defineConfig } from "vite";

export default defineConfig({
  root: join(import.meta.dirname, "playground"),
  publicDir: join(import.meta.dirname, "public"),
  base: "./",
  build: {
    outDir: join(import.meta.dirname, "dist/playground"),
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  preview: { host: "127.0.0.1", open: false },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
});
