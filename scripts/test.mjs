// `npm test`: types, the build of the dashboard, lint and format, house rules, then the tests, which also compare the generated
// files. One failing step does not hide the others: all run, and the last lines list what failed.
// Only the tests are left out when types fail, because they use the build. Plain JavaScript,
// because it builds the rest. Arguments go to vitest: `npm test -- packages/sluice`.

import { spawnSync } from "node:child_process";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");

/** @type {string[]} */
const failed = [];

const hasTypes = runStep("types", "npm run -s types");
if (hasTypes) runStep("dashboard", "npm run -s dashboard");
runStep("lint", "npm run -s lint");
runStep("tidy", "npm run -s tidy");
if (hasTypes) runStep("tests", "vitest run", process.argv.slice(2));

console.log(failed.length === 0 ? "npm test: passed" : `npm test: failed: ${failed.join(", ")}`);
if (!hasTypes) console.log("The tests did not run, because the types do not check.");
process.exitCode = failed.length === 0 ? 0 : 1;

/**
 * @param {string} name
 * @param {string} command npm puts node_modules/.bin on the path
 * @param {string[]} args
 * @returns {boolean} whether the step succeeded
 */
function runStep(name, command, args = []) {
  console.log(`\n> ${name}`);
  const [program, ...words] = command.split(" ");
  const { status, error } = spawnSync(/** @type {string} */ (program), [...words, ...args], {
    cwd: root,
    stdio: "inherit",
  });
  if (error !== undefined) console.error(`${command}: ${error.message}`);
  if (status !== 0) failed.push(name);
  return status === 0;
}
