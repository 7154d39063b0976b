import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { admitUpload } from '../../core/ledger/admit-upload.ts';
import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { makerOf } from '../../core/ledger/rules/reservation.ts';
import { crowdedEntries, isThere, reposMax } from '../../core/ledger/rules/tenant.ts';
import type { AdmitUploadDeps, AdmitUploadOutcome } from '../../core/ledger/upload-batch.ts';
import { suspension } from '../../frame/access/rules/suspension.ts';
import { isForRepo, lastingTokenId, mayPush, userOf } from '../../frame/access/rules/tokens.ts';
import { baseUrl, type Refusal } from '../../frame/api/http.ts';
import type { Granted, LfsLogin } from './access.ts';
import {
  answerAnybody,
  type BatchRequest,
  batchAnswer,
  batchTakes,
  downloadAnswers,
  readBatch,
  type UploadAnswerContext,
  uploadAnswer,
} from './batch.ts';
import type { batchContract } from './contract.ts';
import { type OfferDeps, offerDownload } from './downloads.ts';
import { lfsNotFound, lfsRetryLater } from './http.ts';
import {
  downloadLimitReached,
  readOnly,
  repoNotCreated,
  repoOfOtherCase,
  restored,
  tooManyRepos,
  unfinishedUploads,
  usageCheck,
} from './messages.ts';
import { type LfsRequest, lfsOperations } from './operations.ts';
import type { LfsPorts } from './seams.ts';

/** What admits uploads. */
export type AdmissionDeps = AdmitUploadDeps & { readonly publicUrl?: string | undefined };

export type BatchDeps = AdmissionDeps & OfferDeps & Pick<LfsPorts, 'publicAccess'>;

/** A token of the tenant. Anybody may download from a public repo. */
const batchAccess = (deps: BatchDeps, login: LfsLogin) => async (event: APIGatewayProxyEventV2) => {
  const access = await login(event);
  if (access.ok || !access.isAnybody) return access;
  const publicly = await answerAnybody(deps, event);
  return publicly ? ({ ok: false, response: publicly } as const) : access;
};

export type Uploading = LfsRequest & Granted;

/** POST /{tenant}/{repo}/info/lfs/objects/batch, the LFS Batch API. */
export const lfsBatch = (deps: BatchDeps, login: LfsLogin) =>
  lfsOperations<typeof batchContract, BatchDeps, Granted>((each) => batchAccess(each, login), {
    'POST /{tenant}/{repo}/info/lfs/objects/batch': {
      takes: batchTakes,
      async run(_, { asked, ...request }) {
        const { tenant, repo, refuse } = request;
        const read = readBatch(deps, asked, { tenant: tenant.tenant, repo });
        if (read.kind === 'bad') return refuse(read.statusCode, read.message);
        if (read.batch.operation === 'download') return download(deps, request, read.batch);
        return (await pushRefusal(deps, request)) ?? upload(deps, request, read.batch);
      },
    },
  })(deps);

/** The answer to somebody who can't push to the repo. undefined: they can. */
export async function pushRefusal(
  deps: Pick<CoreDeps, 'ledger'>,
  request: Uploading,
): Promise<Refusal | undefined> {
  const { tenant, repo, token, takesPushes, isOneTooMany, refuse } = request;
  if (!mayPush(token, repo)) return refuse(403, readOnly(token.hostUser, 'push'));
  const suspended = suspension(tenant, 'pushes');
  if (suspended !== undefined) return refuse(403, suspended);
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
export function admissionOf({ tenant, repo, repoObjects, isOfLfs, watch, storageClass, token }: Granted) {
  const who = { user: userOf(token), madeBy: makerOf(token), tokenId: lastingTokenId(token) };
  return { tenant, repo, repoObjects, isOfLfs, watch, storageClass, ...who };
}

export function contextOf(
  { clock, publicUrl }: Pick<AdmissionDeps, 'clock' | 'publicUrl'>,
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

/** The answer if it's unknown yet what fits. */
export function notAdmitted(
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
  const { watch, storageClass, takesPushes, isOneTooMany, isOfLfs } = request;
  if (upstream && takesPushes && !isOneTooMany) {
    const place = { tenant, repo, repoObjects, isOfLfs, watch, storageClass };
    await deps.readThrough?.copy(place, { objects, verdicts: outcome.verdicts });
  }
  return batchAnswer(batch, downloadAnswers(objects, outcome.verdicts));
}
