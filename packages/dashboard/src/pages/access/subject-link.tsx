// A caller as blocks and overrides name it, with a link to how it stands.

import { KeyText } from "../../ui/text/key-text.js";
import { toUrl } from "../../ui/url-query.js";

/** `tenant:acme`, linked to the page Key; ranges of addresses are not linked. */
export function SubjectLink({ subject }: { readonly subject: string }) {
  const colon = subject.indexOf(":");
  const value = subject.slice(colon + 1);
  const href = value.includes("/")
    ? undefined
    : toUrl("/dashboard/key", { [subject.slice(0, colon)]: value });
  return <KeyText value={subject} href={href} />;
}
