import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { createUrlSigner } from '../../lambda/core/store/signing.ts';

/** A server on a port that signs the URLs of an upload, and nothing else: the least that any server with signed URLs has to do. */

const lifetimeMs = 30 * 60_000;
const signer = createUrlSigner({
  bucket: 'bench',
  region: 'us-east-1',
  endpoint: 'http://127.0.0.1:9',
  forcePathStyle: true,
  credentials: async () => ({ accessKeyId: 'bench-access', secretAccessKey: 'bench-secret' }),
});

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method !== 'POST') return void response.writeHead(404).end();
  const { objects } = (await json(request)) as { objects: { oid: string; size: number }[] };
  const signedAtMs = Date.now();
  const answers = objects.map(async ({ oid, size }) => {
    const signed = await signer.signUpload({ key: oid, oid, sizeBytes: size, signedAtMs, lifetimeMs });
    const upload = { ...signed, expires_in: lifetimeMs / 1000 };
    return { oid, size, authenticated: true, actions: { upload } };
  });
  const body = JSON.stringify({ transfer: 'basic', objects: await Promise.all(answers) });
  response.writeHead(200, { 'content-type': 'application/vnd.git-lfs+json' }).end(body);
}

createServer({ keepAliveTimeout: 75_000 }, (request, response) => {
  void answer(request, response);
}).listen(Number(process.argv[2]), '127.0.0.1');
