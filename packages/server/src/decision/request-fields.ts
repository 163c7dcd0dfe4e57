// The fields of a request that the decision API looks at, read off the list as it came: making the object of all
// headers costs a single check more than reading these (bench service/decide).

import type { IncomingMessage } from "node:http";

/** What the API looks at. Of fields that were sent twice, the first counts. */
export interface RequestFields {
  authorization: string | undefined;
  host: string | undefined;
  contentType: string | undefined;
  contentLength: string | undefined;
  /** Sent twice it is both, which is no key. */
  idempotencyKey: string | undefined;
}

/** Reads the fields of a request. */
export function readFields({ rawHeaders }: IncomingMessage): RequestFields {
  const fields: RequestFields = {
    authorization: undefined,
    host: undefined,
    contentType: undefined,
    contentLength: undefined,
    idempotencyKey: undefined,
  };
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i];
    // Few names are of these lengths: the others need not be looked at.
    switch (name.length) {
      case 4:
        if (is(name, "host")) fields.host ??= rawHeaders[i + 1];
        break;
      case 12:
        if (is(name, "content-type")) fields.contentType ??= rawHeaders[i + 1];
        break;
      case 13:
        if (is(name, "authorization")) fields.authorization ??= rawHeaders[i + 1];
        break;
      case 14:
        if (is(name, "content-length")) fields.contentLength ??= rawHeaders[i + 1];
        break;
      case 15:
        if (is(name, "idempotency-key")) addKey(fields, rawHeaders[i + 1]);
        break;
    }
  }
  return fields;
}

function addKey(fields: RequestFields, value: string): void {
  const { idempotencyKey: before } = fields;
  fields.idempotencyKey = before === undefined ? value : `${before}, ${value}`;
}

function is(name: string, lowerCase: string): boolean {
  return name === lowerCase || name.toLowerCase() === lowerCase;
}
