import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { baseUrl, pathRepo, pathTenant, type Response } from '../../api/http.ts';
import type { Deps } from '../../deps.ts';
import { offerPublicly } from '../../extras/downloads.ts';
import { findPublicRepo } from '../../people/authenticate-person.ts';
import { publicTokenId } from '../../people/rules/git-hosts.ts';
import { decodeBatch } from './batch-request.ts';
import { batchAnswer, downloadAnswers } from './batch-response.ts';
import { lfsBody } from './body.ts';
import { publicLimitMessage, strangerLimitMessage } from './download-limit-message.ts';
import { lfsError } from './respond.ts';

type PublicDownloadDeps = Parameters<typeof offerPublicly>[0] &
  Pick<Deps, 'publicReads' | 'ledger'> & { readonly publicUrl?: string | undefined };

/**
 * Answers a batch of somebody who has no token for the repo, if it is a download from a public one.
 *
 * @returns undefined: it is to be answered as if there were no such repo. Up to then one item of the table was read, or
 * none if it is no proper download.
 */
export async function answerAnybody(
  deps: PublicDownloadDeps,
  event: APIGatewayProxyEventV2,
): Promise<Response | undefined> {
  const { requestId } = event.requestContext;
  const [tenantName, repo] = [pathTenant(event), pathRepo(event)];
  if (tenantName === undefined || repo === undefined) return undefined;
  const body = lfsBody(deps.settings, event);
  const decoded = body.ok ? decodeBatch(deps.settings, body.body) : undefined;
  if (decoded?.kind !== 'batch' || decoded.batch.operation !== 'download') return undefined;
  const found = await findPublicRepo(deps, { tenant: tenantName, repo });
  if (!found) return undefined;
  const { tenant, publicRead, repo: record } = found;
  const { objects, invalid } = decoded.batch;
  // What counts nothing to the ceiling makes no work.
  if (objects.size === 0) return batchAnswer(invalid);
  const repoObjects = record && record.epoch > 0 ? record.objectCount : undefined;
  const outcome = await offerPublicly(deps, { tenant, publicRead, repoObjects, objects });
  if (outcome.kind === 'answered')
    return batchAnswer([...downloadAnswers(objects, outcome.verdicts), ...invalid]);
  const place = { tenant: tenantName, repo };
  deps.log.info('downloads refused', {
    ...place,
    tokenId: publicTokenId,
    askedBytes: outcome.askedBytes,
    isCeiling: outcome.kind === 'over-ceiling',
  });
  const message =
    outcome.kind === 'over-ceiling'
      ? publicLimitMessage({ ...outcome, ...place, lfsUrl: lfsUrlOf(event, deps.publicUrl) })
      : strangerLimitMessage({ ...outcome, ...place });
  return lfsError({ statusCode: 509, message, requestId });
}

/** The URL that the client has for the repo, with `.git` or without. */
function lfsUrlOf(event: APIGatewayProxyEventV2, publicUrl: string | undefined): string {
  return baseUrl(event, publicUrl) + event.rawPath.replace(/\/objects\/batch$/, '');
}
