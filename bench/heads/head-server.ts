import { createServer } from 'node:http';
import { listenOnLoopback } from '../../local/system/loopback-server.ts';
import type { Child } from '../child/child.ts';
import { serve } from '../child/serve.ts';

/** A store that has every second object. It answers in 5 ms, and misses as S3 does: chunked, so without a length. */
const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  setTimeout(() => {
    if (/[13579]$/.test(request.url ?? '')) {
      response.writeHead(404, { 'content-type': 'application/xml', 'transfer-encoding': 'chunked' }).end();
      return;
    }
    response.writeHead(200, {
      'content-length': 1000,
      'content-type': 'binary/octet-stream',
      etag: '"0123456789abcdef0123456789abcdef"',
      'last-modified': 'Sun, 01 Nov 2026 10:00:00 GMT',
      'x-amz-checksum-sha256': Buffer.alloc(32).toString('base64'),
      'x-amz-checksum-type': 'FULL_OBJECT',
    });
    response.end();
  }, 5);
});

/** In its own process, so that its work is not measured. It is ready with its port. */
export type HeadServerProcess = Child<Record<string, never>, number>;

serve({}, await listenOnLoopback(server, { port: 0, usedBy: 'the store' }));
