// Certificates for tests, signed by themselves and made by the openssl command.

import { execFileSync } from "node:child_process";
import { join } from "node:path";

/** A certificate for 127.0.0.1 and localhost, and its key, in a folder. */
export function makeCertificate(folder: string, name: string) {
  const certFile = join(folder, `${name}.crt`);
  const keyFile = join(folder, `${name}.key`);
  const subject = ["-subj", `/CN=${name}.example.com`];
  const names = ["-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"];
  const kind = [
    "-x509",
    "-nodes",
    "-days",
    "2",
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:P-256",
  ];
  try {
    const files = ["-keyout", keyFile, "-out", certFile];
    execFileSync("openssl", ["req", ...kind, ...subject, ...names, ...files], { stdio: "pipe" });
  } catch (error) {
    throw new Error("no certificate: install openssl, `apt-get install openssl`", { cause: error });
  }
  return { certFile, keyFile };
}
