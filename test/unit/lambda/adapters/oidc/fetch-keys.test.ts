import { createServer, type RequestListener } from 'node:http';
import { describe, expect, it } from 'vitest';
import { fetchKeys } from '../../../../../lambda/adapters/oidc/fetch-keys.ts';
import { IssuerUnavailableError } from '../../../../../lambda/ports/identities.ts';
import { close, listen, serve } from '../../../../support/serve.ts';

describe('the keys of an issuer', () => {
  it('are what it answers', async () => {
    const uri = await serve((_request, response) => response.end('{"keys":[]}'));
    expect(Buffer.from(await fetchKeys(uri)).toString()).toBe('{"keys":[]}');
  });

  it.each<[string, RequestListener]>([
    ['an error', (_request, response) => response.writeHead(500).end('{"keys":[]}')],
    ['another place', (_request, response) => response.writeHead(302, { location: '/other' }).end()],
    ['more than keys need', (_request, response) => response.end('x'.repeat(100_001))],
    [
      'half of it',
      (request, response) => {
        response.writeHead(200, { 'content-length': '100' }).write('{');
        setTimeout(() => request.socket.destroy(), 20);
      },
    ],
  ])('are not had if it answers %s', async (_what, listener) => {
    await expect(fetchKeys(await serve(listener))).rejects.toThrow(IssuerUnavailableError);
  });

  it('are not had from nowhere, nor after a few seconds of silence', async () => {
    const server = createServer(() => undefined);
    const uri = `http://127.0.0.1:${await listen(server)}/`;
    await expect(fetchKeys(uri)).rejects.toThrow(IssuerUnavailableError);
    await close(server);
    await expect(fetchKeys(uri)).rejects.toThrow(IssuerUnavailableError);
  });
});
