import { execFile, execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { createServer } from 'node:https';
import {
  type AddressInfo,
  connect,
  createServer as createTcpServer,
  type Server as TcpServer,
} from 'node:net';
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
  /** A server with a certificate for `localhost`, and a process of its own that asks origins one after the other. */
  async function serve(listener: RequestListener) {
    const folder = makeFolder();
    const [keyFile, certFile] = [path.join(folder, 'key.pem'), path.join(folder, 'cert.pem')];
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost', '-days', '1'];
    const key = ['-newkey', 'rsa:2048', '-noenc', '-keyout', keyFile, '-out', certFile];
    execFileSync('openssl', ['req', '-x509', ...key, ...subject], { stdio: 'pipe' });
    const server = createServer({ key: await readFile(keyFile), cert: await readFile(certFile) }, listener);
    const port = await listen(server);
    onTestFinished(() => server.closeAllConnections());
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

  it('it connects anew if the other side does not go on with the keys of an earlier connection', async () => {
    const { port, trusting, ask } = await serve((_request, response) => {
      response.setHeader('connection', 'close');
      response.end('x');
    });
    let resumed = 0;
    const front = createTcpServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', (hello) => {
        if (hasTicket(hello)) {
          resumed += 1;
          socket.resetAndDestroy();
          return;
        }
        const behind = connect(port, '127.0.0.1').on('error', () => {});
        behind.write(hello);
        socket.pipe(behind).pipe(socket);
      });
    });
    const origin = `https://localhost:${await listen(front)}`;
    expect(await ask(trusting, origin, origin, origin)).toEqual([200, 'ECONNRESET', 200]);
    expect(resumed).toBe(1);
  });
});

async function listen(server: TcpServer): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** Whether a ClientHello offers the keys of an earlier connection: its last extension is `pre_shared_key`, 41. */
function hasTicket(hello: Buffer): boolean {
  // The record's header, the message's header, the version and the random.
  let at = 5 + 4 + 2 + 32;
  at += 1 + hello.readUInt8(at);
  at += 2 + hello.readUInt16BE(at);
  at += 1 + hello.readUInt8(at);
  for (at += 2; at + 4 <= hello.length; at += 4 + hello.readUInt16BE(at + 2))
    if (hello.readUInt16BE(at) === 41) return true;
  return false;
}
