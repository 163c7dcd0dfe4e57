// What a worker process runs where the configuration is a file.

import { runWorker } from "./worker-process.js";

void runWorker().then((code) => {
  process.exitCode = code;
});
