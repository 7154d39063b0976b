import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { requestOrLog } from '../../core/ledger/reconcile-requests.ts';
import { openDeletionsMax } from '../../core/ledger/rules/deletion.ts';
import { isThere, type RepoPath, type RepoRecord } from '../../core/ledger/rules/tenant.ts';
import { mapLimited } from '../../core/rules/async.ts';
import { objectKey, repoPrefix } from '../../core/rules/names.ts';
import { formatBytes } from '../../core/rules/sizes.ts';
import { StoreRefusedError } from '../../core/store/rules/store.ts';
import { headsAtOnce } from '../../frame/access/files.ts';
import { proveKind } from '../../frame/access/repos.ts';
import { wrongKind } from '../../frame/access/rules/kinds.ts';
import { operatorParent } from '../../frame/access/rules/tokens.ts';
import { json, type Refusal } from '../../frame/api/http.ts';
import { problem, repoNotFound, tenantNotFound } from '../../frame/api/problems.ts';
import { encodeCursor, iso, pageSizeDefault } from '../../frame/contract/fields.ts';
import { type Reader, refuseBeyondPrefix, seenRepo, suspendedAnswer } from '../../frame/management/access.ts';
import { operationsFor, type RouteDeps, requestKeyReused } from '../../frame/management/operations.ts';
import { fileContract, type UploadsRequest, uploadIdPattern } from './contract.ts';
import { type DownloadDeps, requestDownloads } from './downloads.ts';
import { cancelUploads, deleteFiles, type FilesOf, listFiles, usageOfFiles } from './files.ts';
import { completeUpload } from './parts.ts';
import { fileBytesMax, isInParts, partCountOf, partsMax } from './rules/part-upload.ts';
import { requestUploads, type UploadDeps } from './uploads.ts';

type Needs = UploadDeps & DownloadDeps & { readonly provesParts: () => Promise<boolean> };

export const fileOperations = operationsFor<Needs>()(fileContract, {
  'POST /v1/tenants/{tenant}/repos/{repo}/uploads': async (
    deps,
    { tenant, token, body, requestKey, event },
  ) => {
    const found = await findFilesRepo(deps, { tenant: tenant.tenant, token, event, names: namesOf(body) });
    if ('refusal' in found) return found.refusal;
    const { files } = body;
    const refusal =
      suspendedAnswer(tenant, 'pushes') ??
      wrongFile(deps, files) ??
      (await wrongForStore(deps, { ...found.path, files })) ??
      (await wrongInParts(deps, files));
    if (refusal) return refusal;
    const asked = { tenant, token, files, lifetimeMs: lifetimeOf(deps, body), record: found.record };
    const outcome = await requestUploads(deps, asked, requestKey);
    switch (outcome.kind) {
      case 'answered':
        return json(200, outcome.body);
      case 'retry': {
        const seconds = String(Math.max(1, Math.ceil(outcome.retryAfterMs / 1000)));
        const detail = `Usage is near the limit, and is being checked. Retry in ${seconds} s.`;
        return problem('usage-checking', detail, { 'retry-after': seconds });
      }
      case 'absent':
        return tenantNotFound();
      case 'key-reused':
        return requestKeyReused();
    }
  },

  'POST /v1/tenants/{tenant}/repos/{repo}/uploads/{uploadId}': async (
    deps,
    { tenant: { tenant }, token, body: { name }, event },
  ) => {
    const found = await findFilesRepo(deps, { tenant, token, event, names: [name] });
    if ('refusal' in found) return found.refusal;
    const outcome = await completeUpload(deps, { ...found.path, name, upload: uploadIdOf(event) });
    if (outcome === 'taken') return problem('name-taken', `Something else is stored as ${name}.`);
    if (outcome !== 'done')
      return problem('parts-missing', `PUT the other parts of ${name} first: ${runsText(outcome)}.`);
    const [stored] = await Promise.all([
      deps.store.head(objectKey({ ...found.path, oid: name })),
      requestOrLog(deps, { tenant, reason: 'verify', full: false }),
    ]);
    return stored && stored.mark === undefined
      ? json(200, { name, bytes: stored.sizeBytes })
      : problem('file-not-stored', `${name} isn't stored. PUT it to its URL first.`);
  },

  'DELETE /v1/tenants/{tenant}/repos/{repo}/uploads/{uploadId}': async (
    deps,
    { tenant: { tenant }, token, query: { name }, event },
  ) => {
    const found = await findFilesRepo(deps, {
      tenant,
      token,
      event,
      names: name === undefined ? [] : [name],
    });
    if ('refusal' in found) return found.refusal;
    const uploadId = uploadIdOf(event);
    const canceled = uploadIdPattern.test(uploadId)
      ? await cancelUploads(deps, { ...found.path, uploadId, name, token })
      : undefined;
    if (canceled === 'full') return deletionsFull(tenant);
    return canceled
      ? json(202, { uploadId, ...canceled })
      : problem(
          'upload-not-found',
          "That upload isn't in progress. Stored files stay until you delete them.",
        );
  },

  'GET /v1/tenants/{tenant}/repos/{repo}/files': async (
    deps,
    { tenant: { tenant }, token, query: { limit = pageSizeDefault, ...query }, event },
  ) => {
    const of = await filesOf(deps, { tenant, token, event, ...query });
    if ('refusal' in of) return of.refusal;
    const { files, next } = await listFiles(deps, { ...of, pageSize: limit });
    return json(200, {
      files: files.map(({ name, sizeBytes: bytes, storedMs }) => ({
        name,
        bytes,
        storedAt: storedMs === undefined ? null : iso(storedMs),
      })),
      nextCursor: cursorOf(next),
    });
  },

  'GET /v1/tenants/{tenant}/repos/{repo}/files/usage': async (
    deps,
    { tenant: { tenant }, token, query, event },
  ) => {
    const of = await filesOf(deps, { tenant, token, event, ...query });
    if ('refusal' in of) return of.refusal;
    const { next, ...sum } = await usageOfFiles(deps, of);
    return json(200, { prefix: of.prefix, ...sum, nextCursor: cursorOf(next) });
  },

  'DELETE /v1/tenants/{tenant}/repos/{repo}/files': async (
    deps,
    { tenant: { tenant }, token, query: { dryRun = false, name, ...query }, event, trail },
  ) => {
    const of = await filesOf(deps, { tenant, token, event, name, ...query });
    if ('refusal' in of) return of.refusal;
    const deleted = await deleteFiles(deps, { ...of, name, dryRun });
    if (deleted === 'full') return deletionsFull(tenant);
    if (!deleted) return problem('file-not-found', `${of.repo} has no file ${name}.`);
    const { next, ...sum } = deleted;
    trail.became(sum);
    const whose = name === undefined ? { prefix: of.prefix } : { name };
    return json(dryRun ? 200 : 202, { ...whose, ...sum, nextCursor: cursorOf(next) });
  },

  'POST /v1/tenants/{tenant}/repos/{repo}/downloads': async (deps, { tenant, token, body, event }) => {
    const found = await findFilesRepo(deps, { tenant: tenant.tenant, token, event, names: namesOf(body) });
    if ('refusal' in found) return found.refusal;
    const { files } = body;
    const { repo } = found.path;
    const lifetimeMs = lifetimeOf(deps, body);
    const tokenId = token?.tokenId ?? operatorParent;
    const outcome = await requestDownloads(deps, { tenant, repo, tokenId, files, lifetimeMs });
    if (outcome.kind === 'answered') return json(200, { downloads: outcome.downloads });
    const { askedBytes, offeredBytes, limitBytes, resetsAtMs } = outcome;
    deps.log.info('downloads refused', { tenant: tenant.tenant, repo, tokenId, askedBytes });
    return problem(
      'download-limit',
      `${tenant.tenant} has downloaded ${formatBytes(offeredBytes)} of ${formatBytes(limitBytes)} this month, and this needs ${formatBytes(askedBytes)}. It resets at ${iso(resetsAtMs)}.`,
    );
  },
});

type Found = { readonly path: RepoPath; readonly record: RepoRecord } | { readonly refusal: Refusal };
type Asking = { tenant: string; event: APIGatewayProxyEventV2 } & Pick<Reader, 'token'>;

const namesOf = ({ files }: { files: readonly { readonly name: string }[] }) => files.map(({ name }) => name);

/**
 * The repo of the path, if this reader may know of it, and it's of files.
 *
 * @param names all that the request reaches, or what they begin with.
 */
async function findFilesRepo(
  { ledger }: Pick<CoreDeps, 'ledger'>,
  input: Asking & { names: readonly string[] },
): Promise<Found> {
  const { tenant, token, event, names } = input;
  const refusal = refuseBeyondPrefix({ token }, names);
  if (refusal) return { refusal };
  const repo = seenRepo({ token }, event);
  const record = repo === undefined ? undefined : await ledger.readRepo({ tenant, repo });
  if (!record || record.closedAtMs !== null || !isThere(record)) return { refusal: repoNotFound(tenant) };
  const path = { tenant, repo: record.repo };
  const proven = record.isUnproven ? await proveKind({ ledger }, path) : record;
  const wrong = wrongKind(proven, { ...path, needed: 'files' });
  return proven && wrong === undefined
    ? { path, record: proven }
    : { refusal: problem('wrong-kind', wrong ?? '') };
}

/** Keys of a store have so many bytes. It may refuse to list after a longer one. */
const keyBytesMax = 1024;

/** The files of a page, if this reader may reach them. */
async function filesOf(
  deps: Pick<CoreDeps, 'ledger'>,
  input: Asking & { [K in 'name' | 'prefix' | 'cursor']?: string | undefined },
): Promise<FilesOf | { readonly refusal: Refusal }> {
  const { name, prefix = '', cursor } = input;
  const found = await findFilesRepo(deps, { ...input, names: [name ?? prefix] });
  if ('refusal' in found) return found;
  const { path } = found;
  const isOfPage =
    cursor === undefined ||
    (cursor.startsWith(prefix) && Buffer.byteLength(repoPrefix(path) + cursor) <= keyBytesMax);
  if (isOfPage) return { ...path, prefix, after: cursor };
  return { refusal: problem('invalid-query', 'cursor: must be the nextCursor of the previous page.') };
}

const cursorOf = (next: string | null) => (next === null ? null : encodeCursor(next));

const uploadIdOf = (event: APIGatewayProxyEventV2) => event.pathParameters?.['uploadId'] ?? '';

const runsShownMax = 20;

/** Numbers in their order: `1 to 3, 7`. */
function runsText(numbers: readonly number[]): string {
  const runs: [first: number, last: number][] = [];
  for (const number of numbers) {
    const run = runs.at(-1);
    if (run && number === run[1] + 1) run[1] = number;
    else runs.push([number, number]);
  }
  const shown = runs
    .slice(0, runsShownMax)
    .map(([first, last]) => (first < last ? `${first} to ${last}` : first));
  return [...shown, ...(runs.length > runsShownMax ? ['…'] : [])].join(', ');
}

const lifetimeDefaultSeconds = 300;

const lifetimeOf = (
  { settings }: Pick<RouteDeps, 'settings'>,
  { lifetimeSeconds = lifetimeDefaultSeconds }: { lifetimeSeconds?: number | undefined },
) => Math.min(lifetimeSeconds * 1000, settings.urlLifetimeMs);

function wrongFile(
  { settings }: Pick<RouteDeps, 'settings'>,
  files: UploadsRequest['files'],
): Refusal | undefined {
  if (new Set(files.map(({ name }) => name)).size < files.length)
    return problem('invalid-body', 'files: each name can be there once.');
  const bytesMax = fileBytesMax(settings);
  const large = files.findIndex(({ bytes }) => bytes > bytesMax);
  if (large < 0) return undefined;
  return problem('invalid-body', `files.${large}.bytes: can be up to ${formatBytes(bytesMax)}.`);
}

async function wrongInParts(
  { settings, provesParts }: Pick<Needs, 'settings' | 'provesParts'>,
  files: UploadsRequest['files'],
): Promise<Refusal | undefined> {
  const inParts = files.filter((file) => isInParts(settings, file));
  const refuse = (why: string, file = inParts[0]) =>
    file && problem('invalid-body', `files.${files.indexOf(file)}: ${why}.`);
  const checked = inParts.find((file) => (file.inParts ? undefined : file.sha256) ?? file.contentType);
  if (checked)
    return refuse('a file in parts, such as one above 5 GiB, has neither sha256 nor contentType', checked);
  const count = inParts.reduce((sum, { bytes }) => sum + partCountOf(settings, bytes), 0);
  if (count > partsMax)
    return problem('too-many-files', `These files have ${count} parts. Name files with up to ${partsMax}.`);
  if (inParts.length === 0 || (await provesParts())) return undefined;
  const most = formatBytes(settings.objectBytesMax);
  return refuse(`the object store can't take files in parts, so one can have up to ${most}`);
}

/** What a folder's name can have, and a store's that keeps its keys as folders. */
const segmentBytesMax = 255;

/** Some stores refuse even to look for a name that they can't have. Its claim would wait for nothing. */
async function wrongForStore(
  { store }: Pick<CoreDeps, 'store'>,
  { files, ...path }: RepoPath & { files: readonly { readonly name: string }[] },
): Promise<Refusal | undefined> {
  const isLong = (name: string) => name.split('/').some((each) => Buffer.byteLength(each) > segmentBytesMax);
  const long = files.filter(({ name }) => Buffer.byteLength(name) > segmentBytesMax && isLong(name));
  const look = ({ name }: { name: string }) => store.head(objectKey({ ...path, oid: name }));
  // If it refuses any name, it's not because of these.
  if (long.length > 0) await look({ name: 'a' });
  try {
    await mapLimited(long, headsAtOnce, look);
    return undefined;
  } catch (error) {
    if (!(error instanceof StoreRefusedError)) throw error;
    const detail = `files: in this object store, a name can have up to ${segmentBytesMax} bytes between its slashes.`;
    return problem('invalid-body', detail);
  }
}

const deletionsFull = (tenant: string) =>
  problem(
    'deletions-full',
    `${openDeletionsMax.toLocaleString('en-US')} deletions of ${tenant} are pending, or 100 of many files. Retry in about a minute.`,
    { 'retry-after': '60' },
  );
