import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { admitUpload } from '../core/ledger/admit-upload.ts';
import type { CoreDeps } from '../core/ledger/core-deps.ts';
import { makerOf } from '../core/ledger/rules/reservation.ts';
import { crowdedEntries, isThere, reposMax } from '../core/ledger/rules/tenant.ts';
import type { AdmitUploadOutcome } from '../core/ledger/upload-batch.ts';
import type { FunctionPorts } from '../core/rules/clock-and-log.ts';
import { KnownObjects, ListingPace } from '../core/scan/rules/known-objects.ts';
import { adoptedSigner } from '../core/store/adopted.ts';
import type { S3Settings } from '../core/store/bucket-client.ts';
import { cdnSigner } from '../core/store/cdn.ts';
import { privateKeyIn } from '../core/store/rules/cdn-keys.ts';
import { createUrlSigner } from '../core/store/signing.ts';
import { nameOfHostUser } from '../frame/access/rules/host-user.ts';
import type { Caller } from '../frame/access/rules/tokens.ts';
import { isForRepo, lastingTokenId, mayPush } from '../frame/access/rules/tokens.ts';
import { baseUrl, type Refusal } from '../frame/api/http.ts';
import { deployed } from '../frame/aws/deployed.ts';
import { guard, type HttpHandler, warmUpTableAndScan, withMetrics } from '../frame/aws/function.ts';
import { createSecret } from '../frame/aws/secrets.ts';
import { copiesRequestSchema } from '../frame/contract/lfs-requests.ts';
import { type Granted, type LfsAccessDeps, lfsLogin } from '../frame/lfs/access.ts';
import {
  answerAnybody,
  type BatchRequest,
  batchAnswer,
  batchTakes,
  downloadAnswers,
  readBatch,
  type UploadAnswerContext,
  uploadAnswer,
} from '../frame/lfs/batch.ts';
import { lfs, lfsNotFound, lfsRetryLater, respondLfsError } from '../frame/lfs/http.ts';
import {
  copiesNothing,
  downloadLimitReached,
  invalid,
  readOnly,
  repoNotCreated,
  repoOfOtherCase,
  restored,
  tooManyRepos,
  unfinishedUploads,
  usageCheck,
} from '../frame/lfs/messages.ts';
import { type LfsRequest, lfsOperations } from '../frame/lfs/operations.ts';
import type { RouteKey } from '../routes.ts';
import * as stores from '../stores.ts';
import { alertsOfBatches } from '../subjects/alerts/seams.ts';
import { chunkedWay } from '../subjects/chunks/seams.ts';
import {
  type AdmitCopiesDeps,
  admitCopies,
  importCopies,
  type UpstreamOffer,
} from '../subjects/downloads/admit-copies.ts';
import { type DownloadVerdict, offerDownload } from '../subjects/downloads/downloads.ts';
import { copyAnswers, readCopies } from '../subjects/downloads/lfs-routes.ts';
import type { CopyMessage } from '../subjects/downloads/messages.ts';
import type { DownloadPorts } from '../subjects/downloads/ports.ts';
import { historyOfBatches } from '../subjects/history/seams.ts';
import { publicByHost } from '../subjects/hosts/seams.ts';
import {
  adoptedRepos,
  bucketClient,
  bucketPlace,
  heard,
  hostUsers,
  objectStore,
  optional,
  optionalQueue,
  publicUrl,
  queue,
  required,
  scanning,
  secret,
  storageClasses,
  table,
  urlSigner,
} from './parts.ts';

type BatchDeps = AdmitCopiesDeps &
  Omit<LfsAccessDeps, 'rejectedLogins'> &
  Pick<DownloadPorts, 'downloads' | 'publicReads' | 'publicWays'> &
  FunctionPorts & {
    readonly publicUrl?: string | undefined;
  };

/** Whom a token stands for, to show. */
const userOf = ({ hostUser, user, label }: Caller) => (hostUser ? nameOfHostUser(hostUser) : (user ?? label));

/** A token of the tenant. Anybody may download from a public repo. */
const batchAccess = (deps: BatchDeps) => {
  const login = lfsLogin(deps);
  return async (event: APIGatewayProxyEventV2) => {
    const access = await login(event);
    if (access.ok || !access.isAnybody || event.routeKey === copiesRoute) return access;
    const publicly = await answerAnybody(deps, event);
    return publicly ? ({ ok: false, response: publicly } as const) : access;
  };
};

const copiesRoute: RouteKey<'lfsBatch'> = 'POST /{tenant}/{repo}/info/lfs/objects/copies';

type Uploading = LfsRequest & Granted;

const lfsBatch = lfsOperations<RouteKey<'lfsBatch'>, BatchDeps, Granted>(batchAccess, {
  'POST /{tenant}/{repo}/info/lfs/objects/batch': {
    takes: batchTakes,
    async run(deps, { asked, ...request }) {
      const { tenant, repo, refuse } = request;
      const read = readBatch(deps.settings, asked, { tenant: tenant.tenant, repo });
      if (read.kind === 'bad') return refuse(read.statusCode, read.message);
      if (read.batch.operation === 'download') return download(deps, request, read.batch);
      return (await refusalOf(deps, request)) ?? upload(deps, request, read.batch);
    },
  },
  [copiesRoute]: {
    takes: { schema: copiesRequestSchema, wrong: invalid.copies },
    refusal: async (deps, request) =>
      (await refusalOf(deps, request)) ??
      (deps.copyQueue.isOn ? undefined : request.refuse(501, copiesNothing)),
    run: copy,
  },
});

/** POST /{tenant}/{repo}/info/lfs/objects/batch, the LFS Batch API, and …/objects/copies. */
export function create(deps: BatchDeps): HttpHandler {
  return guard(deps, respondLfsError, withMetrics(deps.metrics, lfsBatch(deps)));
}

/** The answer to somebody who can't push to the repo. undefined: they can. */
async function refusalOf(deps: Pick<CoreDeps, 'ledger'>, request: Uploading): Promise<Refusal | undefined> {
  const { tenant, repo, token, takesPushes, isOneTooMany, refuse } = request;
  if (!mayPush(token, repo)) return refuse(403, readOnly(token.hostUser, 'push'));
  const other = await ofOtherCase(deps, request);
  if (other) return other;
  if (!takesPushes) return refuse(404, repoNotCreated(tenant.tenant, repo));
  return isOneTooMany ? refuse(422, tooManyRepos(tenant.tenant, reposMax)) : undefined;
}

/** Repos among which one of another case is looked for: those of nearly every tenant. */
const reposListed = 1000;

/**
 * The answer to somebody who asks for a repo that isn't there, if another one differs in upper and lower case alone and they
 * may know of it. A push would make a second one.
 */
async function ofOtherCase(
  { ledger }: Pick<CoreDeps, 'ledger'>,
  { tenant: { tenant }, repo, isRepoKnown, token, refuse }: Uploading,
): Promise<Refusal | undefined> {
  const { repos = [] } = token;
  if (isRepoKnown) return undefined;
  const found = (await ledger.listRepos({ tenant, pageSize: reposListed })).find(
    (each) =>
      each.repo.toLowerCase() === repo.toLowerCase() &&
      each.closedAtMs === null &&
      (isThere(each) || each.dirtyToken !== null) &&
      isForRepo({ repos }, each.repo),
  );
  return found && refuse(404, repoOfOtherCase({ tenant, repo, other: found.repo }));
}

/** For whom what is admitted in which repo. */
function admissionOf({ tenant, repo, repoObjects, watch, storageClass, token }: Granted) {
  const who = { user: userOf(token), madeBy: makerOf(token), tokenId: lastingTokenId(token) };
  return { tenant, repo, repoObjects, watch, storageClass, ...who };
}

function contextOf(
  { clock, publicUrl }: Pick<BatchDeps, 'clock' | 'publicUrl'>,
  { tenant: { tenant }, repo, event }: Uploading,
): UploadAnswerContext {
  const url = baseUrl(event, publicUrl);
  const [lfsUrl, consoleUrl] = [`${url}/${tenant}/${repo}.git/info/lfs`, `${url}/#${tenant}`];
  return { tenant, lfsUrl, consoleUrl, nowMs: clock.nowMs() };
}

async function upload(deps: BatchDeps, request: Uploading, batch: BatchRequest) {
  if (batch.objects.size === 0) return batchAnswer(batch);
  const { objects, chunked } = batch;
  const input = { ...admissionOf(request), objects, ...(chunked.size > 0 && { chunked }) };
  const outcome = await admitUpload(deps, input);
  if (outcome.kind !== 'answered') return notAdmitted(deps, request, outcome);
  const context = contextOf(deps, request);
  const answers = [...outcome.verdicts].map(([oid, verdict]) =>
    uploadAnswer({ oid, size: objects.get(oid) ?? 0 }, verdict, context),
  );
  return batchAnswer(batch, answers);
}

/** Copies from another server's signed URLs. */
async function copy(
  deps: BatchDeps,
  { asked, ...request }: Uploading & { asked: Parameters<typeof readCopies>[1] },
) {
  const copies = readCopies(deps.settings, asked);
  if (!copies) return request.refuse(422, invalid.copies('an oid is there twice'));
  const objects = new Map([...copies.objects].filter(([oid]) => !copies.refused.has(oid)));
  const outcome = await importCopies(deps, { ...admissionOf(request), objects, offers: copies.offers });
  if (outcome.kind !== 'answered') return notAdmitted(deps, request, outcome);
  return lfs(200, { objects: copyAnswers(copies, outcome.verdicts, contextOf(deps, request)) });
}

/** The answer if it's unknown yet what fits. */
function notAdmitted(
  deps: Pick<CoreDeps, 'clock'>,
  { tenant, requestId }: Uploading,
  outcome: Exclude<AdmitUploadOutcome, { kind: 'answered' }>,
): Refusal {
  switch (outcome.kind) {
    case 'retry': {
      const seconds = Math.max(1, Math.ceil(outcome.retryAfterMs / 1000));
      const { heldUntilMs, unconfirmedUntilMs: untilMs } = outcome;
      const told = { tenant: tenant.tenant, nowMs: deps.clock.nowMs(), seconds };
      const usual =
        untilMs === undefined
          ? usageCheck(seconds)
          : unfinishedUploads({ ...told, untilMs, filesMax: crowdedEntries });
      const message = heldUntilMs === undefined ? usual : restored({ ...told, untilMs: heldUntilMs });
      return lfsRetryLater({ seconds, message, requestId });
    }
    case 'absent':
      return lfsNotFound(requestId);
  }
}

async function download(deps: BatchDeps, request: Uploading, batch: BatchRequest) {
  const { tenant, repo, repoObjects, upstream, token } = request;
  const { objects } = batch;
  const { tokenId } = token;
  const outcome = await offerDownload(deps, { tenant, repo, repoObjects, tokenId, upstream, objects });
  if (outcome.kind === 'over-limit') {
    const { askedBytes } = outcome;
    deps.log.info('downloads refused', { tenant: tenant.tenant, repo, tokenId, askedBytes });
    return request.refuse(509, downloadLimitReached({ ...outcome, tenant: tenant.tenant }));
  }
  const isAnyThere = [...outcome.verdicts.values()].some(({ kind }) => kind !== 'missing');
  const other = isAnyThere ? undefined : await ofOtherCase(deps, request);
  if (other) return other;
  const { watch, storageClass, takesPushes, isOneTooMany } = request;
  if (upstream && takesPushes && !isOneTooMany) {
    const offers = upstreamOffers(objects, outcome.verdicts);
    await admitCopies(deps, { tenant, repo, repoObjects, watch, storageClass, offers });
  }
  return batchAnswer(batch, downloadAnswers(objects, outcome.verdicts));
}

/** oid → what the git host offers of it. */
function upstreamOffers(
  objects: ReadonlyMap<string, number>,
  verdicts: ReadonlyMap<string, DownloadVerdict>,
): ReadonlyMap<string, UpstreamOffer> {
  return new Map(
    [...verdicts].flatMap(([oid, verdict]) =>
      verdict.kind === 'upstream' ? [[oid, { ...verdict, sizeBytes: objects.get(oid) ?? 0 }]] : [],
    ),
  );
}

/** Signs objects for the stage's CDN, if it has one. */
function objectSigner(place: S3Settings) {
  const url = optional('LFS_QUOTA_CDN_URL');
  if (url === undefined) return urlSigner(place);
  const publicKey = required('LFS_QUOTA_CDN_PUBLIC_KEY');
  const key = createSecret(secret(required('LFS_QUOTA_CDN_SECRET_ARN')), (pem) =>
    privateKeyIn(pem, publicKey),
  );
  const cdn = { url, keyId: required('LFS_QUOTA_CDN_KEY_ID'), key };
  return adoptedSigner(cdnSigner(createUrlSigner(place), cdn), adoptedRepos());
}

export function batchDeps() {
  const [tables, place] = [table(), bucketPlace()];
  const client = bucketClient(place);
  const deps = heard(tables);
  const hosts = hostUsers(tables);
  return {
    ...deps,
    publicUrl: publicUrl(),
    ...scanning(client),
    listingPace: new ListingPace(),
    knownObjects: new KnownObjects(),
    listeners: [historyOfBatches(deps), alertsOfBatches(deps)],
    way: chunkedWay({ ...deps, chunkedUploads: stores.chunkedUploads(tables) }),
    downloads: stores.downloads(tables),
    publicReads: stores.publicReads(tables),
    tokens: stores.tokens(tables),
    ...hosts,
    publicWays: [publicByHost({ ...deps, ...hosts })],
    store: objectStore(client),
    signer: objectSigner(place),
    storageClasses: storageClasses(),
    queue: queue(),
    copies: stores.copies(tables),
    copyQueue: optionalQueue<CopyMessage>('LFS_QUOTA_COPY_QUEUE_URL'),
  };
}

export const handler = await deployed(create, batchDeps, warmUpTableAndScan);
