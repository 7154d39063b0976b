import { nameOfHostUser } from '../access/rules/host-user.ts';
import type { Caller } from '../access/rules/tokens.ts';
import { isForRepo, lastingTokenId, mayPush } from '../access/rules/tokens.ts';
import { baseUrl, type Response } from '../api/http.ts';
import { type LfsAccess, type LfsAccessDeps, lfsAccess, RejectedLogins } from '../api/lfs/access.ts';
import {
  answerAnybody,
  type BatchRequest,
  batchAnswer,
  decodeBatch,
  downloadAnswers,
  type UploadAnswerContext,
  uploadAnswer,
} from '../api/lfs/batch.ts';
import { copyAnswers, decodeCopies } from '../api/lfs/copies.ts';
import { lfs, lfsBody, lfsError, lfsNotFound, lfsRetryLater, respondLfsError } from '../api/lfs/http.ts';
import {
  copiesNothing,
  downloadLimitReached,
  readOnly,
  repoNotCreated,
  repoOfOtherCase,
  restored,
  tooManyRepos,
  unfinishedUploads,
  usageCheck,
} from '../api/lfs/messages.ts';
import { deployed } from '../aws/deployed.ts';
import { guard, type HttpHandler, warmUpTableAndScan, withMetrics } from '../aws/function.ts';
import { batchDeps } from '../compositions/lfs-batch.ts';
import {
  type AdmitCopiesDeps,
  admitCopies,
  importCopies,
  type UpstreamOffer,
} from '../downloads/admit-copies.ts';
import { type DownloadVerdict, offerDownload } from '../downloads/downloads.ts';
import type { DownloadPorts } from '../downloads/ports.ts';
import { admitUpload } from '../ledger/admit-upload.ts';
import type { CoreDeps } from '../ledger/core-deps.ts';
import { makerOf } from '../ledger/rules/reservation.ts';
import { crowdedEntries, isThere, reposMax } from '../ledger/rules/tenant.ts';
import type { AdmitUploadOutcome } from '../ledger/upload-batch.ts';
import type { RouteKey } from '../routes.ts';
import type { FunctionPorts } from '../rules/clock-and-log.ts';

type BatchDeps = AdmitCopiesDeps &
  Omit<LfsAccessDeps, 'rejectedLogins'> &
  Pick<DownloadPorts, 'downloads' | 'publicReads' | 'publicWays'> &
  FunctionPorts & {
    readonly publicUrl?: string | undefined;
  };

/** Whom a token stands for, to show. */
const userOf = ({ hostUser, user, label }: Caller) => (hostUser ? nameOfHostUser(hostUser) : (user ?? label));

/** POST /{tenant}/{repo}/info/lfs/objects/batch, the LFS Batch API, and …/objects/copies. */
export function create(deps: BatchDeps): HttpHandler {
  const rejectedLogins = new RejectedLogins(deps.clock);
  const handle: HttpHandler = async (event) => {
    const { requestId } = event.requestContext;
    const access = await lfsAccess({ ...deps, rejectedLogins }, event);
    const isCopies = event.routeKey === copiesRoute;
    if (!access.ok)
      return (!isCopies && access.isAnybody && (await answerAnybody(deps, event))) || access.response;
    const body = lfsBody(deps.settings, event);
    if (!body.ok) return body.response;
    const uploading = { access, baseUrl: baseUrl(event, deps.publicUrl), requestId };
    if (isCopies) return (await refusalOf(deps, uploading)) ?? copy(deps, { ...uploading, body: body.body });
    const place = { tenant: access.tenant.tenant, repo: access.repo };
    const decoded = decodeBatch(deps.settings, body.body, place);
    if (decoded.kind === 'bad') return lfsError({ ...decoded, requestId });
    const { batch } = decoded;
    if (batch.operation === 'download') return download(deps, { batch, access, requestId });
    return (await refusalOf(deps, uploading)) ?? upload(deps, { ...uploading, batch });
  };
  return guard(deps, respondLfsError, withMetrics(deps.metrics, handle));
}

const copiesRoute: RouteKey<'lfsBatch'> = 'POST /{tenant}/{repo}/info/lfs/objects/copies';

interface Uploading {
  readonly access: Extract<LfsAccess, { ok: true }>;
  readonly baseUrl: string;
  readonly requestId: string;
}

/** The answer to somebody who can't push to the repo. undefined: they can. */
async function refusalOf(
  deps: Pick<CoreDeps, 'ledger'>,
  { access, requestId }: Uploading,
): Promise<Response | undefined> {
  const { tenant, repo } = access;
  if (!mayPush(access.token, repo)) {
    const message = readOnly(access.token.hostUser, 'push');
    return lfsError({ statusCode: 403, message, requestId });
  }
  const other = await ofOtherCase(deps, { access, requestId });
  if (other) return other;
  if (!access.takesPushes) {
    return lfsError({ statusCode: 404, message: repoNotCreated(tenant.tenant, repo), requestId });
  }
  if (access.isOneTooMany) {
    return lfsError({ statusCode: 422, message: tooManyRepos(tenant.tenant, reposMax), requestId });
  }
  return undefined;
}

/** Repos among which one of another case is looked for: those of nearly every tenant. */
const reposListed = 1000;

/**
 * The answer to somebody who asks for a repo that isn't there, if another one differs in upper and lower case alone and they
 * may know of it. A push would make a second one.
 */
async function ofOtherCase(
  { ledger }: Pick<CoreDeps, 'ledger'>,
  { access, requestId }: Pick<Uploading, 'access' | 'requestId'>,
): Promise<Response | undefined> {
  const { repo, isRepoKnown, token } = access;
  const { tenant } = access.tenant;
  const { repos = [] } = token;
  if (isRepoKnown) return undefined;
  const found = (await ledger.listRepos({ tenant, pageSize: reposListed })).find(
    (each) =>
      each.repo.toLowerCase() === repo.toLowerCase() &&
      each.closedAtMs === null &&
      (isThere(each) || each.dirtyToken !== null) &&
      isForRepo({ repos }, each.repo),
  );
  if (!found) return undefined;
  const message = repoOfOtherCase({ tenant, repo, other: found.repo });
  return lfsError({ statusCode: 404, message, requestId });
}

/** For whom what is admitted in which repo. */
function admissionOf({ access: { tenant, repo, repoObjects, watch, storageClass, token } }: Uploading) {
  const who = { user: userOf(token), madeBy: makerOf(token), tokenId: lastingTokenId(token) };
  return { tenant, repo, repoObjects, watch, storageClass, ...who };
}

function contextOf(
  { clock }: Pick<CoreDeps, 'clock'>,
  { access: { tenant, repo }, baseUrl }: Uploading,
): UploadAnswerContext {
  return {
    tenant: tenant.tenant,
    lfsUrl: `${baseUrl}/${tenant.tenant}/${repo}.git/info/lfs`,
    consoleUrl: `${baseUrl}/#${tenant.tenant}`,
    nowMs: clock.nowMs(),
  };
}

async function upload(deps: BatchDeps, request: Uploading & { batch: BatchRequest }): Promise<Response> {
  const { batch } = request;
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
async function copy(deps: BatchDeps, request: Uploading & { body: string }): Promise<Response> {
  const { requestId } = request;
  if (!deps.copyQueue.isOn) return lfsError({ statusCode: 501, message: copiesNothing, requestId });
  const decoded = decodeCopies(deps.settings, request.body);
  if ('message' in decoded) return lfsError({ ...decoded, requestId });
  const objects = new Map([...decoded.objects].filter(([oid]) => !decoded.refused.has(oid)));
  const outcome = await importCopies(deps, { ...admissionOf(request), objects, offers: decoded.offers });
  if (outcome.kind !== 'answered') return notAdmitted(deps, request, outcome);
  return lfs(200, { objects: copyAnswers(decoded, outcome.verdicts, contextOf(deps, request)) });
}

/** The answer if it's unknown yet what fits. */
function notAdmitted(
  deps: Pick<CoreDeps, 'clock'>,
  { access: { tenant }, requestId }: Uploading,
  outcome: Exclude<AdmitUploadOutcome, { kind: 'answered' }>,
): Response {
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

async function download(
  deps: BatchDeps,
  { access, batch, requestId }: Omit<Uploading, 'baseUrl'> & { batch: BatchRequest },
): Promise<Response> {
  const { tenant, repo, repoObjects, upstream } = access;
  const { objects } = batch;
  const { tokenId } = access.token;
  const outcome = await offerDownload(deps, { tenant, repo, repoObjects, tokenId, upstream, objects });
  if (outcome.kind === 'over-limit') {
    const message = downloadLimitReached({ ...outcome, tenant: tenant.tenant });
    deps.log.info('downloads refused', {
      tenant: tenant.tenant,
      repo,
      tokenId,
      askedBytes: outcome.askedBytes,
    });
    return lfsError({ statusCode: 509, message, requestId });
  }
  const isAnyThere = [...outcome.verdicts.values()].some(({ kind }) => kind !== 'missing');
  const other = isAnyThere ? undefined : await ofOtherCase(deps, { access, requestId });
  if (other) return other;
  const { watch, storageClass, takesPushes, isOneTooMany } = access;
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

export const handler = await deployed(create, batchDeps, warmUpTableAndScan);
