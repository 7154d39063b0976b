import { execFile, execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { describeWith } from '../../../../support/describe-with.ts';
import { useTempFolders } from '../../../../support/temp-folder.ts';

const exchangeFile = new URL('../../../../../lambda/adapters/aws-http/socket-exchange.ts', import.meta.url);

/** What a process of its own gets: only at its start a process can be told whom to trust. */
const client = `
  const { SocketExchange } = await import(${JSON.stringify(exchangeFile.href)});
  const exchange = new SocketExchange({ socketsMax: 2 });
  const get = (origin) => exchange.send({
    request: { method: 'GET', origin, path: '/', headers: { host: new URL(origin).host } },
    limits: { connectMs: 5000, answerMs: 5000 },
    readerOf: ({ status }) => ({ write: () => {}, end: () => status }),
  }).catch((error) => error.code);
  const results = [];
  for (const origin of JSON.parse(process.argv[1])) results.push(await get(origin));
  console.log(JSON.stringify(results));
`;

function opensslVersion(): string | undefined {
  try {
    return execFileSync('openssl', ['version'], { encoding: 'utf8', stdio: 'pipe' });
  } catch {
    return undefined;
  }
}

const makeFolder = useTempFolders();

describeWith({ title: 'over TLS', found: opensslVersion(), missing: 'It needs openssl.' }, () => {
  it('it reaches only whom it trusts, by the name in the certificate, and its process then ends', async () => {
    const folder = makeFolder();
    const [keyFile, certFile] = [path.join(folder, 'key.pem'), path.join(folder, 'cert.pem')];
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost', '-days', '1'];
    const key = ['-newkey', 'rsa:2048', '-noenc', '-keyout', keyFile, '-out', certFile];
    execFileSync('openssl', ['req', '-x509', ...key, ...subject], { stdio: 'pipe' });
    const names: unknown[] = [];
    const server = createServer(
      { key: await readFile(keyFile), cert: await readFile(certFile) },
      (request, response) => {
        names.push((request.socket as { servername?: unknown }).servername);
        response.end('x'.repeat(200_000));
      },
    );
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const { port } = server.address() as AddressInfo;
    const ask = async (env: NodeJS.ProcessEnv, ...hosts: string[]) => {
      const origins = JSON.stringify(hosts.map((host) => `https://${host}:${port}`));
      const args = ['--import', 'tsx', '--input-type=module', '--eval', client, origins];
      const { stdout } = await promisify(execFile)(process.execPath, args, {
        env: { ...process.env, ...env },
      });
      return JSON.parse(stdout) as unknown;
    };
    expect(await ask({}, 'localhost')).toEqual(['DEPTH_ZERO_SELF_SIGNED_CERT']);
    const trusting = { NODE_EXTRA_CA_CERTS: certFile };
    expect(await ask(trusting, 'localhost', 'localhost', '127.0.0.1')).toEqual([
      200,
      200,
      'ERR_TLS_CERT_ALTNAME_INVALID',
    ]);
    expect(names).toEqual(['localhost', 'localhost']);
  }, 30_000);
});
