import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { IncomingMessage, RequestListener } from 'node:http';
import { createServer, request as httpsRequest } from 'node:https';
import { createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SenderOptions } from '../../../../../lambda/frame/net/public-address.ts';
import { createWebhookSender } from '../../../../../lambda/subjects/alerts/webhook-sender.ts';
import { close, listen } from '../../../../support/serve.ts';

const name = 'hooks.example.com';
const folder = mkdtempSync(join(tmpdir(), 'lfs-quota-webhook-'));
let pair: { key: Buffer; cert: Buffer };
beforeAll(() => {
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const subject = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name}`];
  const made = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2'.split(' ');
  execFileSync('openssl', [...made, '-keyout', key, '-out', cert, ...subject], { stdio: 'ignore' });
  pair = { key: readFileSync(key), cert: readFileSync(cert) };
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A receiver on this machine that has the certificate of the name. */
async function receiver(answer: RequestListener) {
  const asked: { method: string; url: string; headers: IncomingMessage['headers']; body: string }[] = [];
  const server = createServer({ ...pair, keepAliveTimeout: 60_000 }, async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { method = '', url = '', headers } = request;
    asked.push({ method, url, headers, body: Buffer.concat(chunks).toString() });
    await answer(request, response);
  });
  return { asked, port: await listen(server) };
}

/** Sends as the deployed one, but to a port of this machine, whose certificate is trusted. */
function sender(port: number, more: SenderOptions & { trusts?: boolean } = {}) {
  const { trusts = true, ...options } = more;
  const connected: unknown[] = [];
  const made = createWebhookSender({
    resolve: async () => ['127.0.0.1'],
    isPublic: () => true,
    request: (wanted) => {
      connected.push([wanted.host, wanted.port, wanted.servername]);
      return httpsRequest({ ...wanted, port, ...(trusts && { ca: pair.cert }) });
    },
    ...options,
  });
  const post = (url = `https://${name}/hook?a=b`) =>
    made.post({ url, headers: { 'webhook-id': 'acme:1' }, body: '{"type":"x"}' });
  return { post, connected };
}

describe('a webhook', () => {
  it('is posted to the address that was checked, by the name and its certificate', async () => {
    const { asked, port } = await receiver((_, response) => void response.writeHead(204).end());
    const { post, connected } = sender(port);
    expect(await post()).toEqual({ kind: 'answered', status: 204 });
    expect(connected).toEqual([['127.0.0.1', 443, name]]);
    expect(asked).toMatchObject([{ method: 'POST', url: '/hook?a=b', body: '{"type":"x"}' }]);
    expect(asked[0]?.headers).toMatchObject({
      host: name,
      'content-type': 'application/json',
      'content-length': '12',
      'webhook-id': 'acme:1',
      connection: 'close',
    });
  });

  it.each([200, 404, 500])('tells the answer %i', async (status) => {
    const { port } = await receiver((_, response) => void response.writeHead(status).end('text'));
    expect(await sender(port).post()).toEqual({ kind: 'answered', status });
  });

  it.each([301, 302, 303, 307, 308])('follows no redirect %i', async (status) => {
    const { asked, port } = await receiver(
      (_, response) => void response.writeHead(status, { location: 'https://169.254.169.254/' }).end(),
    );
    expect(await sender(port).post()).toEqual({ kind: 'failed', failure: 'redirect' });
    expect(asked).toHaveLength(1);
  });

  it('does not read what an answer says beside its status, however long it is', async () => {
    let written = 0;
    const { port } = await receiver((_, response) => {
      response.writeHead(200);
      const more = () => {
        while (written < 200e6 && !response.destroyed) {
          written += 65_536;
          if (!response.write(Buffer.alloc(65_536))) return void response.once('drain', more);
        }
      };
      more();
    });
    expect(await sender(port).post()).toEqual({ kind: 'answered', status: 200 });
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(written).toBeLessThan(100e6);
  });

  it('is not sent to a certificate of another name, or that nobody vouches for', async () => {
    const { asked, port } = await receiver((_, response) => void response.end());
    expect(await sender(port).post('https://other.example.com/')).toEqual({
      kind: 'failed',
      failure: 'certificate',
    });
    expect(await sender(port, { trusts: false }).post()).toEqual({ kind: 'failed', failure: 'certificate' });
    expect(asked).toEqual([]);
  });

  it('ends in time, whatever does not answer: the receiver, the connection, the resolver', async () => {
    const silent = await receiver(() => undefined);
    expect(await sender(silent.port, { timeoutMs: 100 }).post()).toEqual({
      kind: 'failed',
      failure: 'timeout',
    });
    const mute = await listen(createTcpServer(() => undefined));
    expect(await sender(mute, { timeoutMs: 100 }).post()).toEqual({ kind: 'failed', failure: 'timeout' });
    const resolve = () => new Promise<never>(() => undefined);
    expect(await sender(1, { timeoutMs: 100, resolve }).post()).toEqual({
      kind: 'failed',
      failure: 'timeout',
    });
  });

  it('that nobody takes is not reachable', async () => {
    const gone = await listen(createTcpServer((socket) => socket.destroy()));
    expect(await sender(gone).post()).toEqual({ kind: 'failed', failure: 'not-reachable' });
    const closed = createTcpServer();
    const port = await listen(closed);
    await close(closed);
    expect(await sender(port).post()).toEqual({ kind: 'failed', failure: 'not-reachable' });
  });
});

describe('the name of a receiver', () => {
  /** What the resolver of this machine would answer; nothing is ever connected. */
  const posting = (resolve: SenderOptions['resolve']) => {
    const connected: (string | undefined)[] = [];
    const made = createWebhookSender({
      ...(resolve && { resolve }),
      request: (wanted) => {
        connected.push(String(wanted.host));
        return httpsRequest({ ...wanted, port: 1, host: '127.0.0.1' });
      },
    });
    const post = (url = `https://${name}/`) => made.post({ url, headers: {}, body: '{}' });
    return { post, connected };
  };

  it.each([
    ['127.0.0.1'],
    ['169.254.169.254'],
    ['10.0.0.1'],
    ['::1'],
    ['::ffff:169.254.169.254'],
    ['fd00:ec2::254'],
    ['64:ff9b::a00:1'],
    ['1.1.1.1', '10.0.0.1'],
    ['2606:4700:4700::1111', 'fe80::1'],
    ['not an address'],
  ])('that stands for %s is not connected to', async (...addresses) => {
    const { post, connected } = posting(async () => addresses);
    expect(await post()).toEqual({ kind: 'failed', failure: 'address-not-public' });
    expect(connected).toEqual([]);
  });

  it('is looked up once: what it stands for a moment later changes nothing', async () => {
    const answers = [['1.1.1.1'], ['127.0.0.1']];
    let asked = 0;
    const { post, connected } = posting(async () => answers[asked++] ?? ['127.0.0.1']);
    expect((await post()).kind).toBe('failed');
    expect([asked, connected]).toEqual([1, ['1.1.1.1']]);
    expect(await post()).toEqual({ kind: 'failed', failure: 'address-not-public' });
    expect(connected).toHaveLength(1);
  });

  it('that does not exist, or has no address, is not found', async () => {
    const { post } = posting(async () => Promise.reject(new Error('ENOTFOUND')));
    expect(await post()).toEqual({ kind: 'failed', failure: 'name-not-found' });
    expect(await posting(async () => []).post()).toEqual({ kind: 'failed', failure: 'name-not-found' });
  });

  it('is looked up by this machine, whose own name is not public', async () => {
    const { post, connected } = posting(undefined);
    expect(await post('https://localhost/')).toEqual({ kind: 'failed', failure: 'address-not-public' });
    expect(await post('https://127.0.0.1/')).toEqual({ kind: 'failed', failure: 'address-not-public' });
    expect(connected).toEqual([]);
  });
});
