import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';

const base64url = (value: object | Buffer) =>
  (Buffer.isBuffer(value) ? value : Buffer.from(JSON.stringify(value))).toString('base64url');

/** An issuer of identity tokens, with a key of its own. */
export class TestIssuer {
  readonly issuer: string;
  #serial = 1;
  #keys = newKeys();

  constructor(issuer: string) {
    this.issuer = issuer;
  }

  /** From now on tokens are signed with another key. */
  rotate(): void {
    this.#serial += 1;
    this.#keys = newKeys();
  }

  /** The id of its key. */
  get kid(): string {
    return `k${this.#serial}`;
  }

  jwks(): object {
    return {
      keys: [{ ...this.#keys.publicKey.export({ format: 'jwk' }), kid: this.kid, use: 'sig', alg: 'RS256' }],
    };
  }

  /** A token that is valid for ten minutes, unless the entries say otherwise. A claim that is undefined is left out. */
  token(
    claims: Readonly<Record<string, unknown>>,
    { header = {}, key }: { header?: object; key?: KeyObject } = {},
  ): string {
    const nowSeconds = Math.floor(Date.now() / 1000);
    const payload = {
      iss: this.issuer,
      sub: 'repo:acme/game',
      iat: nowSeconds,
      exp: nowSeconds + 600,
      ...claims,
    };
    const head = { typ: 'JWT', alg: 'RS256', kid: this.kid, ...header };
    const signed = `${base64url(head)}.${base64url(payload)}`;
    return `${signed}.${base64url(sign('sha256', Buffer.from(signed), key ?? this.#keys.privateKey))}`;
  }
}

const newKeys = () => generateKeyPairSync('rsa', { modulusLength: 2048 });

/**
 * An issuer that serves its keys on a port of this machine.
 *
 * @param tls for https: its key, and a certificate for 127.0.0.1 that the stack trusts.
 */
export async function startTestIssuer(tls?: { readonly key: Buffer; readonly cert: Buffer }): Promise<{
  issuer: TestIssuer;
  setting: { readonly issuer: string; readonly jwksUri: string; readonly kind: 'github' };
  close: () => Promise<void>;
}> {
  const answer = (_request: IncomingMessage, response: ServerResponse) => {
    response.setHeader('content-type', 'application/json').end(JSON.stringify(issuer.jwks()));
  };
  const server = tls
    ? createSecureServer({ ...tls, keepAliveTimeout: 60_000 }, answer)
    : createServer({ keepAliveTimeout: 60_000 }, answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `${tls ? 'https' : 'http'}://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const issuer = new TestIssuer(url);
  const setting = { issuer: url, jwksUri: `${url}/keys`, kind: 'github' } as const;
  const close = () =>
    new Promise<void>((resolve) => {
      server.closeAllConnections();
      server.close(() => resolve());
    });
  return { issuer, setting, close };
}
