// Certificates for tests, signed by themselves and made by the openssl command.

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

const LOOPBACK = "IP:127.0.0.1,DNS:localhost";

/** A certificate and its key, in a folder. Default: for 127.0.0.1 and localhost. */
export function makeCertificate(folder: string, name: string, altNames = LOOPBACK) {
  const certFile = join(folder, `${name}.crt`);
  const keyFile = join(folder, `${name}.key`);
  const subject = ["-subj", `/CN=${name}.example.com`];
  const names = ["-addext", `subjectAltName=${altNames}`];
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

/** The same, valid on the first of January 2020 only. */
export function makeExpiredCertificate(folder: string, name: string) {
  const { certFile, keyFile } = makeCertificate(folder, name);
  const [request, config] = ["csr", "conf"].map((end) => join(folder, `${name}.${end}`));
  writeFileSync(join(folder, `${name}.index`), "");
  writeFileSync(config, toAuthority(folder, name));
  const asked = ["-new", "-key", keyFile, "-subj", `/CN=${name}.example.com`, "-out", request];
  const dates = ["-startdate", "20200101000000Z", "-enddate", "20200102000000Z"];
  const files = ["-in", request, "-keyfile", keyFile, "-out", certFile, "-config", config];
  execFileSync("openssl", ["req", ...asked], { stdio: "pipe" });
  execFileSync(
    "openssl",
    ["ca", "-batch", "-notext", "-selfsign", "-create_serial", ...dates, ...files],
    {
      stdio: "pipe",
    },
  );
  return { certFile, keyFile };
}

function toAuthority(folder: string, name: string): string {
  return `[ca]
default_ca = own
[own]
database = ${join(folder, `${name}.index`)}
new_certs_dir = ${folder}
serial = ${join(folder, `${name}.serial`)}
default_md = sha256
policy = any
x509_extensions = names
[any]
commonName = supplied
[names]
subjectAltName = IP:127.0.0.1
`;
}
