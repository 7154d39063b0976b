import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';

/**
 * Lets only holders of the access key reach the server's own listeners. The engine checks no signature and allows
 * every origin, so without this any process of the machine, and any web page, could read and change the table. The
 * SDK never sends an Origin or OPTIONS, so those are refused even with the key.
 *
 * @param accessKeyId is compared with the one in `Authorization: … Credential=KEY/…`, in constant time.
 */
export function requireAccessKey(server: Server, accessKeyId: string): void {
  const listeners = server.listeners('request');
  server.removeAllListeners('request');
  const expected = sha256(accessKeyId);
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (mayPass(request, expected)) {
      for (const listener of listeners) listener.call(server, request, response);
      return;
    }
    request.on('error', () => {});
    const headers = { 'content-type': 'text/plain', 'content-length': '10', connection: 'close' };
    response.writeHead(403, headers).end('Forbidden\n');
  });
}

function mayPass({ method, headers }: IncomingMessage, expected: Buffer): boolean {
  if (method === 'OPTIONS' || headers.origin !== undefined) return false;
  const given = /^AWS4-HMAC-SHA256 (?:.*[ ,])?Credential=([^/ ,]+)\//.exec(headers.authorization ?? '')?.[1];
  return given !== undefined && timingSafeEqual(sha256(given), expected);
}

/** A hash, because `timingSafeEqual` needs equal lengths. */
function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
