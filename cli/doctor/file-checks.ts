import { type Check, check, skipped, warning } from './check.ts';
import {
  describeOutcome,
  isAccepted,
  type Probe,
  type ProbeTarget,
  type RawOutcome,
  sha256Of,
} from './probe.ts';

const noFiles = "Git LFS works. Repos of kind files don't: their limit wouldn't be exact.";

/** What repos of kind `files` need, and Git LFS doesn't: nothing here can fail. */
export const fileChecks: readonly Check[] = [
  check('download-name', 'Browsers show such files instead of saving them.', async (probe) => {
    const { key } = await probe.announceStored();
    const outcome = await probe.download(key, { saveAs: 'ä.html' });
    const told = outcome.kind === 'answer' ? outcome.headers['content-disposition'] : undefined;
    if (isAccepted(outcome) && told === "attachment; filename*=UTF-8''%C3%A4.html")
      return 'A signed URL can say under which name a browser saves a download.';
    return warning(`The store doesn't tell browsers to save a download: ${describeOutcome(outcome)}.`);
  }),
  check('only-new', noFiles, async (probe) => {
    const { kind, ...answer } = await probe.proveOnlyNew();
    if (kind === 'holds') return 'An upload with If-None-Match replaces nothing, whenever it ends.';
    return warning(
      {
        rejects: `The store rejects an upload with If-None-Match (${'status' in answer && answer.status}).`,
        unmarked: 'The store keeps no metadata: a deleted file looks like one without bytes.',
        waits: "The store ends no upload that's in progress: a cancel waits for it.",
        replaces: 'The store ignores If-None-Match: an upload replaced an object.',
        'replaces-late':
          'The store checks If-None-Match only when an upload starts: it replaced what was stored before it ended.',
      }[kind],
    );
  }),
  check('part-url', 'Git LFS works. Repos of kind files take no file above 5 GiB.', async (probe) => {
    const key = probe.newKey();
    const body = Buffer.from('part');
    const upload = await probe.archives.createUpload(key);
    probe.partUploads.add(upload);
    const part = { uploadId: upload.uploadId, number: 1 };
    const signed = await probe.signUpload({ key, sizeBytes: body.length, part });
    const longer = await probe.sendBytes(signed, Buffer.concat([body, body]));
    const outcome = await probe.sendBytes(signed, body);
    if (!isAccepted(outcome))
      return warning(`A signed URL of a part is rejected: ${describeOutcome(outcome)}.`);
    if (isAccepted(longer)) return warning('A signed URL of a part accepts another length.');
    await probe.archives.abort(upload);
    const late = await probe.sendBytes(signed, body);
    if (isAccepted(late)) return warning('A part is accepted after its upload was aborted.');
    return 'A signed URL of a part accepts its exact length, until the upload is aborted.';
  }),
  check('cross-origin', '', async (probe) => {
    const { origin } = probe.target;
    if (origin === undefined)
      return skipped('Tests uploads from web pages: lfs-quota doctor --origin https://app.example.com.');
    const missing = await findMissing(probe, origin);
    if (missing === undefined) return `Pages of ${origin} can upload and download.`;
    return warning(`Pages of ${origin} can't use the store: ${missing}.`, corsAdvice(origin, probe.target));
  }),
];

/** Headers that a page sends with an upload. */
const sentHeaders = ['content-type', 'if-none-match', 'x-amz-checksum-sha256'];

/** What a browser asks for, and doesn't get. undefined: nothing. */
async function findMissing(probe: Probe, origin: string): Promise<string | undefined> {
  const { key, body } = await probe.announce();
  const of = { key, oid: sha256Of(body), sizeBytes: body.length, contentType: 'image/png', onlyNew: true };
  const { href, header } = await probe.signUpload(of);
  const asked = {
    origin,
    'access-control-request-method': 'PUT',
    'access-control-request-headers': sentHeaders.join(','),
  };
  const allowed = await probe.sendRaw({ method: 'OPTIONS', href, headers: asked });
  if (!isAccepted(allowed)) return `it rejects the preflight (${describeOutcome(allowed)})`;
  const missing = sentHeaders.filter((name) => !has(allowed, 'allow-headers', name));
  if (missing.length > 0) return `the header ${missing[0]} isn't allowed`;
  if (!has(allowed, 'allow-methods', 'put')) return "PUT isn't allowed";
  const put = await probe.sendBytes({ href, header: { ...header, origin } }, body);
  if (!isAccepted(put)) return `it rejects the upload (${describeOutcome(put)})`;
  if (!has(put, 'expose-headers', 'etag')) return "the header ETag isn't exposed";
  const got = await probe.sendRaw({
    method: 'GET',
    href: await probe.signDownload(key),
    headers: { origin },
  });
  const answers = { 'a preflight': allowed, 'an upload': put, 'a download': got };
  const unnamed = Object.entries(answers).find(([, answer]) => !has(answer, 'allow-origin', origin));
  return unnamed && `the answer to ${unnamed[0]} doesn't allow the origin`;
}

/** Whether a list that an answer has for browsers has this in it. */
function has(outcome: RawOutcome, list: string, name: string): boolean {
  const text = outcome.kind === 'answer' ? String(outcome.headers[`access-control-${list}`] ?? '') : '';
  const names = text
    .toLowerCase()
    .split(',')
    .map((each) => each.trim());
  return names.includes('*') || names.includes(name);
}

/** How to allow it. @param target.endpoint undefined: AWS. */
export function corsAdvice(
  origin: string,
  { bucket, endpoint }: Pick<ProbeTarget, 'bucket' | 'endpoint'>,
): string {
  const rule = {
    AllowedOrigins: [origin],
    AllowedMethods: ['GET', 'HEAD', 'PUT'],
    AllowedHeaders: sentHeaders,
    ExposeHeaders: ['ETag'],
  };
  if (endpoint === undefined)
    return `Add it to corsOrigins and deploy, or: aws s3api put-bucket-cors --bucket ${bucket} --cors-configuration '${JSON.stringify({ CORSRules: [rule] })}'`;
  if (/\.r2\.cloudflarestorage\.com$/.test(new URL(endpoint).hostname))
    return `In Cloudflare's dashboard, add this CORS policy to the settings of ${bucket}: ${JSON.stringify([rule])}`;
  return `Allow this in the store's CORS settings: ${JSON.stringify(rule)}. The store of lfs-quota serve allows it: check the proxy before it.`;
}
