import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Child } from '../child/child.ts';
import type { BackendApi, Seen } from './backend.ts';
import type { Standing } from './seed.ts';

/** Table, store, queue and secrets in their own process, so that their work is not measured. */
export class BackendProcess {
  readonly endpoint: string;
  /** The certificate that its clients must trust. */
  readonly certificateFile: string;
  readonly #child: Child<BackendApi>;
  readonly #folder: string;

  private constructor(parts: {
    child: Child<BackendApi>;
    port: number;
    folder: string;
    certificateFile: string;
  }) {
    this.#child = parts.child;
    this.#folder = parts.folder;
    this.endpoint = `https://127.0.0.1:${parts.port}`;
    this.certificateFile = parts.certificateFile;
  }

  /** Needs `openssl` to make a certificate for this run. */
  static async start(): Promise<BackendProcess> {
    const folder = mkdtempSync(join(tmpdir(), 'lfs-quota-backend-'));
    const [keyFile, certificateFile] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')];
    makeCertificate({ keyFile, certificateFile });
    const child = await Child.fork<BackendApi>(new URL('backend.ts', import.meta.url));
    const tls = { key: readFileSync(keyFile, 'utf8'), cert: readFileSync(certificateFile, 'utf8') };
    return new BackendProcess({ child, port: await child.call('begin', tls), folder, certificateFile });
  }

  async reset(standing: Standing): Promise<void> {
    await this.#child.call('reset', standing);
  }

  look(): Promise<Seen> {
    return this.#child.call('look');
  }

  async end(): Promise<void> {
    await this.#child.end();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

function makeCertificate({ keyFile, certificateFile }: { keyFile: string; certificateFile: string }): void {
  const args = ['req', '-x509', '-newkey', 'rsa:2048', '-noenc', '-days', '1', '-subj', '/CN=127.0.0.1'];
  const name = ['-addext', 'subjectAltName=IP:127.0.0.1'];
  execFileSync('openssl', [...args, ...name, '-keyout', keyFile, '-out', certificateFile], { stdio: 'pipe' });
}
