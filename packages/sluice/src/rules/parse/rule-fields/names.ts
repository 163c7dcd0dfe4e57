// Strings with a grammar of their own: ids, names of headers and hosts, methods, patterns of paths.

import { show } from "../../../base/errors.js";
import { nearestName } from "../../../base/nearest-name.js";
import { type Shape, stringFor } from "../../../base/shapes/shapes.js";
import { toPattern } from "../../match/path-pattern.js";
import { sayError } from "../rule-reading.js";

// RFC 9110, section 5.6.2.
const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";

const IS_TOKEN = new RegExp(`^${TOKEN}$`);

/** Whether it is a token, which names of headers and cookies are. */
export function isToken(text: string): boolean {
  return IS_TOKEN.test(text);
}

function pattern<T>(
  what: string,
  source: string,
  lengthMax: number,
  toValue: (text: string) => T,
): Shape<T> {
  const expression = new RegExp(source);
  return stringFor({
    what,
    pattern: source,
    lengthMax,
    toValue: (value) => (expression.test(value) ? toValue(value) : undefined),
  });
}

/** How long the id of a rule may be. */
export const RULE_ID_LENGTH_MAX = 64;

/** The id of a rule. */
export const ruleId: Shape<string> = pattern(
  `1 to ${RULE_ID_LENGTH_MAX} letters, digits, _, - or .`,
  "^[A-Za-z0-9_.-]+$",
  RULE_ID_LENGTH_MAX,
  (id) => id,
);

/** The name of a header, in lower case. */
export const headerName: Shape<string> = pattern(
  "the name of a header",
  `^${TOKEN}$`,
  128,
  (name) => name.toLowerCase(),
);

// Those of RFC 9110, RFC 5789 and the QUERY draft; then others in use that look like one of them.
const METHODS = [
  "GET",
  "HEAD",
  "POST",
  "PUT",
  "PATCH",
  "DELETE",
  "OPTIONS",
  "TRACE",
  "CONNECT",
  "QUERY",
];
const OTHER_METHODS = ["COPY", "LINK", "LOCK", "MOVE", "PURGE", "SEARCH", "UNLINK", "UNLOCK"];

const methodName = pattern("a method such as GET", `^${TOKEN}$`, 32, (name) => name.toUpperCase());

/** A method, in upper case. Any token is one, but not a misspelt GET or POST, whose rule would never match. */
export const method: Shape<string> = {
  what: methodName.what,
  schema: methodName.schema,
  read: (value, spot) => {
    const name = methodName.read(value, spot);
    const meant = name === undefined ? undefined : nearestMethod(name);
    return meant === undefined
      ? name
      : spot.say(`must be a method, got ${show(value)}; did you mean ${meant}?`);
  },
};

/** The method that was probably meant by a misspelt one; undefined if it may be a method of its own. */
export function nearestMethod(name: string): string | undefined {
  const isKnown = [...METHODS, ...OTHER_METHODS].includes(name.toUpperCase());
  return isKnown ? undefined : nearestName(name, METHODS);
}

/** A name of the file's own choice: a tier, an attribute, a function. */
export const ownName: Shape<string> = pattern(
  "a name of 1 to 128 characters without white space at its ends",
  "^[^\\s](.*[^\\s])?$",
  128,
  (name) => name,
);

const LABEL = "[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?";

/** A host, in lower case: `api.example.com`, or `*.example.com` for all below it. */
export const host: Shape<string> = pattern(
  "a host without a port, such as api.example.com or *.example.com",
  `^(\\*\\.)?${LABEL}(\\.${LABEL})*$`,
  253,
  (name) => name.toLowerCase(),
);

const PATTERN_LENGTH_MAX = 1_024;

/** A pattern of paths in its one form, so that `/Login/` and `/login` are one. */
export const pathPattern: Shape<string> = {
  what: `a path of at most ${PATTERN_LENGTH_MAX} characters`,
  schema: { type: "string", pattern: "^/[^?#;\\\\]*$", maxLength: PATTERN_LENGTH_MAX },
  read: (value, spot) => {
    if (typeof value !== "string" || value.length > PATTERN_LENGTH_MAX) {
      return spot.refuse(pathPattern.what, value);
    }
    try {
      return toPattern(value).text;
    } catch (error) {
      return sayError(spot, error, "a path pattern ");
    }
  },
};
