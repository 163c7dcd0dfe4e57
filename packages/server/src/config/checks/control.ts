// Checks the section of the control plane: it names either a database or a control node to follow.

import type { FileValues } from "../description/file.js";
import type { ConfigProblems } from "../problems.js";

/** Checks which kind of node it is, and that nothing is said of the other kind. */
export function checkControl({ control }: FileValues, problems: ConfigProblems): void {
  if (control === undefined) return;
  const { database, follow, token, caFile } = control;
  if (database === undefined && follow === undefined) {
    problems.add(
      ["control"],
      "needs database (a control node: file:sluice.db, or postgres://…) or follow (the URL of a control node)",
    );
  }
  if (database !== undefined && follow !== undefined) {
    problems.add(["control"], "has database and follow: a node has one or the other");
  }
  if (follow === undefined) {
    for (const [field, value] of Object.entries({ token, caFile })) {
      if (value !== undefined) problems.add(["control", field], "needs follow, which is not set");
    }
    return;
  }
  if (token === undefined) {
    problems.add(
      ["control", "token"],
      "is missing: follow needs an access token of the control node (sluice tokens create)",
    );
  }
  if (caFile !== undefined && follow.startsWith("http:")) {
    problems.add(["control", "caFile"], "needs an https:// URL in follow");
  }
}
