// How the dashboard is built: static files in the package of the service, which serves them under /dashboard/.

import { defineConfig } from "vite";
import { precompress } from "./vite/precompress.js";

export default defineConfig({
  base: "/dashboard/",
  build: {
    outDir: "../server/dashboard",
    emptyOutDir: true,
    target: "es2022",
    // Everything is a file: the Content-Security-Policy allows neither inline scripts nor data: URLs for them.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  plugins: [precompress()],
});
