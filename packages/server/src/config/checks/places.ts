// Checks that no two listeners have the same address. A section with other problems is checked too, so that its
// author sees all of them in one run.

import { type Field, readQuietly } from "sluice/shapes";
import type { ListenAddress } from "../../base/http/listen.js";
import {
  adminSection,
  decisionSection,
  envoySection,
  gatewaySection,
} from "../description/listeners.js";
import { toPathText } from "../problems.js";
import type { ConfigSections, SectionName } from "../read-sections.js";

/** Where a listener listens, and what reads that where the rest of its section can't be read. */
interface Place {
  readonly path: readonly [SectionName, string];
  readonly field: Field<ListenAddress> | Field<ListenAddress | undefined>;
}

const places: readonly Place[] = [
  { path: ["gateway", "listen"], field: gatewaySection.fields.listen },
  { path: ["decision", "listen"], field: decisionSection.fields.listen },
  { path: ["envoy", "listen"], field: envoySection.fields.listen },
  { path: ["envoy", "http"], field: envoySection.fields.http },
  { path: ["admin", "listen"], field: adminSection.fields.listen },
];

/** Reports each listener that would listen where one before it does. */
export function checkPlaces(sections: ConfigSections): void {
  const taken: { path: Place["path"]; listen: ListenAddress }[] = [];
  for (const place of places) {
    const { path } = place;
    const listen = listenOf(place, sections);
    if (listen === undefined) continue;
    const other = taken.find((one) => isSamePlace(listen, one.listen));
    taken.push({ path, listen });
    if (other === undefined) continue;
    const seen = `must differ from ${toPathText(other.path)}, both are ${toListenText(listen)}`;
    sections.problems.add(path, seen);
  }
}

/** An address as people write it: `127.0.0.1:8080`, `[::1]:8080`. */
export function toListenText({ host, port }: ListenAddress): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Undefined if that listener is closed, or if what is written is not an address. */
function listenOf(
  { path, field }: Place,
  { raw, problems }: ConfigSections,
): ListenAddress | undefined {
  const [name, fieldName] = path;
  // The admin port is open whatever the file says.
  const section = raw[name] ?? (name === "admin" ? {} : undefined);
  if (typeof section !== "object" || section === null || problems.hasProblem(path))
    return undefined;
  const given = (section as Record<string, unknown>)[fieldName] ?? field.byDefault;
  return given === undefined ? undefined : readQuietly(field.shape, given);
}

const ANY_HOSTS = ["0.0.0.0", "::"];

function isSamePlace(a: ListenAddress, b: ListenAddress): boolean {
  if (a.port === 0 || a.port !== b.port) return false;
  return a.host === b.host || ANY_HOSTS.includes(a.host) || ANY_HOSTS.includes(b.host);
}
