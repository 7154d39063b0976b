import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A certificate of this run for `localhost`, which signs itself. */
export interface Certificate {
  /** PEM. */
  readonly key: string;
  readonly cert: string;
  /** What a client has to trust. */
  readonly file: string;
}

/** Needs `openssl`. @param folder an existing one. */
export function makeCertificate(folder: string): Certificate {
  const [keyFile, file] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')];
  const args = ['req', '-x509', '-newkey', 'rsa:2048', '-noenc', '-days', '1', '-subj', '/CN=localhost'];
  // rustls takes no authority as the certificate of a server, and no address as its name.
  const extensions = [
    '-addext',
    'subjectAltName=DNS:localhost',
    '-addext',
    'basicConstraints=critical,CA:FALSE',
  ];
  execFileSync('openssl', [...args, ...extensions, '-keyout', keyFile, '-out', file], { stdio: 'pipe' });
  return { key: readFileSync(keyFile, 'utf8'), cert: readFileSync(file, 'utf8'), file };
}
