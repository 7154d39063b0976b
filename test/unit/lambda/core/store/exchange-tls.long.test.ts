import { execFile, execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { createServer } from 'node:https';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { describeWith } from '../../../../support/describe-with.ts';
import { listen } from '../../../../support/serve.ts';
import { useTempFolders } from '../../../../support/temp-folder.ts';

const exchangeFile = new URL('../../../../../lambda/core/store/http-exchange.ts', import.meta.url);

/** What a process of its own gets: only at its start a process can be told whom to trust. */
const client = `
  const { HttpExchange } = await import(${JSON.stringify(exchangeFile.href)});
  const exchange = new HttpExchange({ socketsMax: 2 });
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
  /** A server with a certificate for `localhost`, and a process of its own that asks origins one after the other. */
  async function serve(listener: RequestListener) {
    const folder = makeFolder();
    const [keyFile, certFile] = [path.join(folder, 'key.pem'), path.join(folder, 'cert.pem')];
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost', '-days', '1'];
    const key = ['-newkey', 'rsa:2048', '-noenc', '-keyout', keyFile, '-out', certFile];
    execFileSync('openssl', ['req', '-x509', ...key, ...subject], { stdio: 'pipe' });
    const server = createServer(
      { key: await readFile(keyFile), cert: await readFile(certFile), keepAliveTimeout: 60_000 },
      listener,
    );
    const port = await listen(server);
    const trusting = { NODE_EXTRA_CA_CERTS: certFile };
    const ask = async (env: NodeJS.ProcessEnv, ...origins: string[]) => {
      const args = ['--import', 'tsx', '--input-type=module', '--eval', client, JSON.stringify(origins)];
      const { stdout } = await promisify(execFile)(process.execPath, args, {
        env: { ...process.env, ...env },
      });
      return JSON.parse(stdout) as unknown;
    };
    return { port, trusting, ask };
  }

  it('it reaches only whom it trusts, by the name in the certificate, and its process then ends', async () => {
    const names: unknown[] = [];
    const { port, trusting, ask } = await serve((request, response) => {
      names.push((request.socket as { servername?: unknown }).servername);
      response.end('x'.repeat(200_000));
    });
    const [named, numbered] = [`https://localhost:${port}`, `https://127.0.0.1:${port}`];
    expect(await ask({}, named)).toEqual(['DEPTH_ZERO_SELF_SIGNED_CERT']);
    expect(await ask(trusting, named, named, numbered)).toEqual([200, 200, 'ERR_TLS_CERT_ALTNAME_INVALID']);
    expect(names).toEqual(['localhost', 'localhost']);
  });
});
