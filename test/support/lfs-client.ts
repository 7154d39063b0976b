import { createHash } from 'node:crypto';

/** As much of a git-lfs client as the tests of the stack need. */
/** A repo of the tenant `demo`. */
interface LfsPlace {
  readonly url: string;
  readonly token: string;
  /** `art` when left out. */
  readonly repo?: string;
}

interface BatchAnswer {
  readonly objects: readonly {
    readonly oid: string;
    readonly actions?: Record<string, { href: string; header?: Record<string, string> }>;
    readonly error?: { code: number; message: string };
  }[];
}

const mediaType = 'application/vnd.git-lfs+json';

async function post(url: string, headers: Record<string, string>, body: unknown): Promise<Response> {
  const all = { accept: mediaType, 'content-type': mediaType, ...headers };
  return fetch(url, { method: 'POST', headers: all, body: JSON.stringify(body) });
}

/** One batch request for one object. */
export async function batch(
  { url, token, repo = 'art' }: LfsPlace,
  input: { operation: 'upload' | 'download'; oid: string; size: number },
): Promise<BatchAnswer['objects'][number]> {
  const { operation, oid, size } = input;
  const authorization = `Basic ${Buffer.from(`any:${token}`).toString('base64')}`;
  const ref = { name: 'refs/heads/main' };
  const body = { operation, transfers: ['basic'], ref, objects: [{ oid, size }] };
  const response = await post(`${url}/demo/${repo}.git/info/lfs/objects/batch`, { authorization }, body);
  if (response.status !== 200) throw new Error(`batch: ${response.status} ${await response.text()}`);
  const [object] = ((await response.json()) as BatchAnswer).objects;
  if (object === undefined) throw new Error('The batch answered no object.');
  return object;
}

/** Uploads and verifies. @returns the oid. */
export async function push(place: LfsPlace, content: string): Promise<string> {
  const oid = createHash('sha256').update(content).digest('hex');
  const size = Buffer.byteLength(content);
  const { actions, error } = await batch(place, { operation: 'upload', oid, size });
  if (error) throw new Error(`The object need not be uploaded: ${error.code} ${error.message}`);
  const { upload, verify } = actions ?? {};
  if (upload === undefined || verify === undefined) throw new Error('The object need not be uploaded.');
  const stored = await fetch(upload.href, { method: 'PUT', headers: upload.header ?? {}, body: content });
  if (stored.status !== 200) throw new Error(`PUT: ${stored.status} ${await stored.text()}`);
  const verified = await post(verify.href, verify.header ?? {}, { oid, size });
  if (verified.status !== 200) throw new Error(`verify: ${verified.status} ${await verified.text()}`);
  return oid;
}

export async function pull(place: LfsPlace, input: { oid: string; size: number }): Promise<string> {
  const { actions } = await batch(place, { operation: 'download', ...input });
  if (actions?.['download'] === undefined) throw new Error('The object can not be downloaded.');
  return (await fetch(actions['download'].href)).text();
}

/** `GET subscription` of the tenant `demo`. */
export async function subscription(
  place: LfsPlace,
): Promise<{ limitBytes: number; usage: { storedBytes: number; objectCount: number } | null }> {
  const headers = { authorization: `Bearer ${place.token}` };
  const response = await fetch(`${place.url}/v1/tenants/demo/subscription`, { headers });
  if (response.status !== 200) throw new Error(`subscription: ${response.status} ${await response.text()}`);
  return (await response.json()) as Awaited<ReturnType<typeof subscription>>;
}
