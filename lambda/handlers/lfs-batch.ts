import { nameOfHostUser } from '../accounts/rules/host-user.ts';
import type { Caller } from '../accounts/rules/tokens.ts';
import { lastingTokenId, mayPush } from '../accounts/rules/tokens.ts';
import { baseUrl, type Response } from '../api/http.ts';
import { type LfsAccess, type LfsAccessDeps, lfsAccess, RejectedLogins } from '../api/lfs/access.ts';
import {
  answerAnybody,
  type BatchRequest,
  batchAnswer,
  decodeBatch,
  downloadAnswers,
  uploadAnswer,
} from '../api/lfs/batch.ts';
import { lfsBody, lfsError, lfsNotFound, lfsRetryLater, respondLfsError } from '../api/lfs/http.ts';
import {
  downloadLimitReached,
  readOnly,
  repoNotCreated,
  restored,
  tooManyRepos,
  unfinishedUploads,
  usageCheck,
} from '../api/lfs/messages.ts';
import { deployed } from '../aws/deployed.ts';
import { guard, type HttpHandler, warmUpTableAndScan, withMetrics } from '../aws/function.ts';
import { batchDeps } from '../compose.ts';
import type { Deps } from '../deps.ts';
import { type DownloadVerdict, offerDownload } from '../downloads/downloads.ts';
import type { Watch } from '../gc/rules/watch.ts';
import { type AdmitCopiesDeps, admitCopies, type UpstreamOffer } from '../ledger/admit-copies.ts';
import { admitUpload } from '../ledger/admit-upload.ts';
import { makerOf } from '../ledger/rules/reservation.ts';
import { crowdedEntries, reposMax, type TenantRecord } from '../ledger/rules/tenant.ts';
import type { AdmitUploadInput } from '../ledger/upload-batch.ts';

type BatchDeps = AdmitCopiesDeps &
  Omit<LfsAccessDeps, 'rejectedLogins'> &
  Pick<Deps, 'downloads' | 'publicReads' | 'invocations'> & {
    readonly publicUrl?: string | undefined;
  };

/** Whom a token stands for, to show. */
const userOf = ({ hostUser, user, label }: Caller) => (hostUser ? nameOfHostUser(hostUser) : (user ?? label));

/** POST /{tenant}/{repo}/info/lfs/objects/batch: the LFS Batch API. */
export function create(deps: BatchDeps): HttpHandler {
  const rejectedLogins = new RejectedLogins(deps.clock);
  const handle: HttpHandler = async (event) => {
    const { requestId } = event.requestContext;
    const access = await lfsAccess({ ...deps, rejectedLogins }, event);
    if (!access.ok) return (access.isAnybody && (await answerAnybody(deps, event))) || access.response;
    const body = lfsBody(deps.settings, event);
    if (!body.ok) return body.response;
    const decoded = decodeBatch(deps.settings, body.body);
    if (decoded.kind === 'bad') return lfsError({ ...decoded, requestId });
    const { tenant, repo, repoObjects, watch } = access;
    const request = { tenant, repo, repoObjects, batch: decoded.batch };
    if (decoded.batch.operation === 'download') return download(deps, { ...request, access, requestId });
    if (!mayPush(access.token, repo)) {
      const message = readOnly(access.token.hostUser, 'push');
      return lfsError({ statusCode: 403, message, requestId });
    }
    if (!access.takesPushes) {
      return lfsError({ statusCode: 404, message: repoNotCreated(tenant.tenant, repo), requestId });
    }
    if (access.isOneTooMany) {
      return lfsError({ statusCode: 422, message: tooManyRepos(tenant.tenant, reposMax), requestId });
    }
    const { token } = access;
    const who = { user: userOf(token), madeBy: makerOf(token), tokenId: lastingTokenId(token) };
    return upload(deps, { ...request, watch, who, baseUrl: baseUrl(event, deps.publicUrl), requestId });
  };
  return guard(deps, respondLfsError, withMetrics(deps.metrics, handle));
}

interface Request {
  readonly tenant: TenantRecord;
  readonly repo: string;
  /** When it was last counted. undefined: it never was. */
  readonly repoObjects: number | undefined;
  readonly batch: BatchRequest;
}

async function upload(
  deps: BatchDeps,
  request: Request & {
    watch: Watch | undefined;
    who: Pick<AdmitUploadInput, 'user' | 'madeBy' | 'tokenId'>;
    baseUrl: string;
    requestId: string;
  },
): Promise<Response> {
  const { tenant, repo, repoObjects, watch, who, batch, requestId } = request;
  if (batch.objects.size === 0) return batchAnswer(batch.invalid);
  const { objects, chunked } = batch;
  const input = { tenant, repo, repoObjects, watch, ...who, objects, ...(chunked.size > 0 && { chunked }) };
  const outcome = await admitUpload(deps, input);
  switch (outcome.kind) {
    case 'answered': {
      const context = {
        tenant: tenant.tenant,
        lfsUrl: `${request.baseUrl}/${tenant.tenant}/${repo}.git/info/lfs`,
        consoleUrl: `${request.baseUrl}/#${tenant.tenant}`,
        nowMs: deps.clock.nowMs(),
      };
      const answers = [...batch.objects].map(([oid, size]) => {
        const verdict = outcome.verdicts.get(oid);
        // A client waits for ever for an oid that is not echoed, so a gap must not pass.
        if (!verdict) throw new Error('An object of the batch got no verdict.');
        return uploadAnswer({ oid, size }, verdict, context);
      });
      return batchAnswer([...answers, ...batch.invalid], batch);
    }
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
  request: Request & { access: Extract<LfsAccess, { ok: true }>; requestId: string },
): Promise<Response> {
  const { tenant, repo, batch, access, requestId } = request;
  const { objects } = batch;
  const { tokenId } = access.token;
  const outcome = await offerDownload(deps, { ...request, tokenId, upstream: access.upstream, objects });
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
  const { watch, takesPushes, isOneTooMany } = access;
  if (access.upstream && takesPushes && !isOneTooMany) {
    const offers = upstreamOffers(objects, outcome.verdicts);
    await admitCopies(deps, { tenant, repo, repoObjects: request.repoObjects, watch, offers });
  }
  return batchAnswer([...downloadAnswers(objects, outcome.verdicts), ...batch.invalid]);
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
