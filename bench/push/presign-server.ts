import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { createUrlSigner } from '../../lambda/store/signing.ts';
import { listen } from '../../local/system/loopback-server.ts';
import { serve } from '../serve.ts';
import { bucketAt } from '../store.ts';

/** A server that signs what it is asked for, and nothing else: the least that any server with signed URLs has to do. */

interface BatchRequest {
  readonly operation: 'upload' | 'download';
  readonly objects: readonly { readonly oid: string; readonly size: number }[];
}

const lifetimeMs = 30 * 60_000;
const [storeUrl = ''] = process.argv.slice(2);
const signer = createUrlSigner(bucketAt(storeUrl));

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const repo = /^\/([\w-]+)\/objects\/batch$/.exec(request.url ?? '')?.[1];
  if (request.method !== 'POST' || repo === undefined) {
    request.resume();
    response.writeHead(404).end();
    return;
  }
  const { operation, objects } = (await json(request)) as BatchRequest;
  const signedAtMs = Date.now();
  const answers = objects.map(async ({ oid, size }) => {
    const place = { key: `${repo}/${oid}`, signedAtMs, lifetimeMs };
    const signed =
      operation === 'upload'
        ? await signer.signUpload({ ...place, oid, sizeBytes: size })
        : await signer.signDownload(place);
    const action = { ...signed, expires_in: lifetimeMs / 1000 };
    return { oid, size, authenticated: true, actions: { [operation]: action } };
  });
  const body = JSON.stringify({ transfer: 'basic', objects: await Promise.all(answers) });
  response.writeHead(200, { 'content-type': 'application/vnd.git-lfs+json' }).end(body);
}

const server = createServer({ keepAliveTimeout: 75_000 }, (request, response) => {
  void answer(request, response);
});
serve({}, await listen(server, { port: 0, usedBy: 'the benchmark' }));
