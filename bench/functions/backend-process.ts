import { type ChildProcess, execFileSync, fork } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { BackendAnswer, BackendRequest, Seen } from './backend.ts';
import type { Standing } from './seed.ts';

/** Table, store, queue and secrets in a process of their own, so that their work is not in what is measured. */
export class BackendProcess {
  readonly endpoint: string;
  /** The certificate that its clients must trust. */
  readonly certificateFile: string;
  readonly #child: ChildProcess;
  readonly #folder: string;

  private constructor(parts: { child: ChildProcess; port: number; folder: string; certificateFile: string }) {
    this.#child = parts.child;
    this.#folder = parts.folder;
    this.endpoint = `https://127.0.0.1:${parts.port}`;
    this.certificateFile = parts.certificateFile;
  }

  /** Needs `openssl`, for a certificate of this run. */
  static async start(): Promise<BackendProcess> {
    const folder = mkdtempSync(join(tmpdir(), 'lfs-quota-backend-'));
    const [keyFile, certificateFile] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')];
    makeCertificate({ keyFile, certificateFile });
    const child = fork(fileURLToPath(new URL('backend.ts', import.meta.url)), {
      execArgv: ['--import', 'tsx', '--no-warnings'],
    });
    await nextAnswer(child, 'ready');
    const tls = { key: readFileSync(keyFile, 'utf8'), cert: readFileSync(certificateFile, 'utf8') };
    const { port } = await ask(child, { kind: 'begin', tls }, 'begun');
    return new BackendProcess({ child, port, folder, certificateFile });
  }

  async reset(standing: Standing): Promise<void> {
    await ask(this.#child, { kind: 'reset', standing }, 'reset');
  }

  async look(): Promise<Seen> {
    return ask(this.#child, { kind: 'look' }, 'seen');
  }

  stop(): void {
    this.#child.disconnect();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

function makeCertificate({ keyFile, certificateFile }: { keyFile: string; certificateFile: string }): void {
  const args = ['req', '-x509', '-newkey', 'rsa:2048', '-noenc', '-days', '1', '-subj', '/CN=127.0.0.1'];
  const name = ['-addext', 'subjectAltName=IP:127.0.0.1'];
  execFileSync('openssl', [...args, ...name, '-keyout', keyFile, '-out', certificateFile], { stdio: 'pipe' });
}

function ask<K extends BackendAnswer['kind']>(child: ChildProcess, request: BackendRequest, kind: K) {
  const answer = nextAnswer(child, kind);
  child.send(request);
  return answer;
}

function nextAnswer<K extends BackendAnswer['kind']>(
  child: ChildProcess,
  kind: K,
): Promise<Extract<BackendAnswer, { kind: K }>> {
  return new Promise((resolve, reject) => {
    const gone = () => reject(new Error(`The backend ended before it answered "${kind}".`));
    child.once('exit', gone);
    child.once('message', (answer: BackendAnswer) => {
      child.off('exit', gone);
      if (answer.kind === kind) resolve(answer as Extract<BackendAnswer, { kind: K }>);
      else reject(new Error(`The backend answered "${answer.kind}", not "${kind}".`));
    });
  });
}
