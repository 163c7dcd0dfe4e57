// Finds routes to an upstream that does not exist, and routes that no request can reach.

import { nearestName } from "sluice/rules";
import { show } from "../../base/errors.js";
import type { FileValues } from "../description/file.js";
import type { ConfigSections } from "../read-sections.js";
import { Routes } from "../routes.js";

type RouteValues = FileValues["routes"][number];

/** Checks routes against upstreams, the gateway and each other. */
export function checkRoutes(sections: ConfigSections): void {
  const { values, problems } = sections;
  if (!sections.isGood("routes")) return;
  const routes = values.routes ?? [];
  if (values.gateway !== undefined && routes.length === 0) {
    problems.add(["routes"], "must have at least one route: gateway needs one");
  }
  checkUpstreams(sections, routes);
  for (const [i, route] of routes.entries()) {
    checkPath(route, i, problems);
    const first = routes.findIndex((earlier, j) => j < i && covers(earlier, route));
    if (first < 0) continue;
    problems.add(["routes", i], `is never reached: routes[${first}] takes all its requests`);
  }
}

/** A path in a form that no request has once the gateway has read it would never fit. */
function checkPath(route: RouteValues, i: number, problems: ConfigSections["problems"]): void {
  try {
    new Routes([{ ...route, host: route.host, adaptive: undefined }]);
  } catch {
    const seen = `got ${show(route.path)}`;
    problems.add(["routes", i, "path"], `must be a path that a request can have, ${seen}`);
  }
}

function checkUpstreams({ raw, problems }: ConfigSections, routes: readonly RouteValues[]): void {
  // By what is written: an upstream with a problem of its own is there regardless.
  const names = Object.keys(raw.upstreams ?? {});
  for (const [i, { upstream }] of routes.entries()) {
    if (names.includes(upstream)) continue;
    const nearest = nearestName(upstream, names);
    const known = names.length === 0 ? "there are none" : `there are ${names.join(", ")}`;
    const hint = nearest === undefined ? known : `did you mean ${nearest}?`;
    problems.add(["routes", i, "upstream"], `"${upstream}" is not in upstreams; ${hint}`);
  }
}

/** Whether a route takes everything that a later one could. */
function covers(earlier: RouteValues, later: RouteValues): boolean {
  if (earlier.host !== undefined && earlier.host !== later.host) return false;
  if (earlier.path === later.path) return true;
  if (!earlier.path.endsWith("/*")) return false;
  const stem = earlier.path.slice(0, -1);
  return later.path.startsWith(stem) || `${later.path}/` === stem;
}
