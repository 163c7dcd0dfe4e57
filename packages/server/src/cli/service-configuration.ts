// Recognises the configuration of a service where a rule file is wanted: each of its sections would be reported as an
// unknown field, and not one of the reports would say what to do.

/** Sections that a configuration has and a rule file can't have. */
const SECTIONS =
  /^(?:\{?\s*")?(?:server|gateway|decision|envoy|admin|upstreams|routes|store)"?\s*:/m;
const RULE_FILE = /^rules:\s*(?:\{\s*)?file:\s*["']?([^"'\s},]+)/m;

/** What to do with a file whose rules can't be used; undefined if it does not look like a configuration. */
export function adviseOnConfiguration(file: string, text: string): string | undefined {
  if (!SECTIONS.test(text)) return undefined;
  const named = RULE_FILE.exec(text)?.[1];
  const instead =
    named === undefined
      ? "a file with what its rules section says"
      : `the rule file that it names, ${named}`;
  return `${file} is the configuration of a service, not a rule file; pass ${instead}`;
}
