import { z } from 'zod';
import type { ApiClient } from './api-client.ts';
import { CliError } from './errors.ts';
import type { DownloadDeps } from './transfer.ts';
import { type Answer, isForNow, untilAnswered } from './until-answered.ts';

/** Batches of the LFS API, as git-lfs asks for them. */

export const mediaType = 'application/vnd.git-lfs+json';
/** Objects of one batch, as git-lfs asks for them. */
export const batchObjectsMax = 100;

export const batchAction = z.object({
  href: z.url(),
  header: z.record(z.string(), z.string()).default({}),
  /** Seconds. What isn't a number says nothing. */
  expires_in: z.number().min(0).optional().catch(undefined),
});
const answerShape = z.object({
  oid: z.string(),
  actions: z
    .object({
      upload: batchAction.optional(),
      verify: batchAction.optional(),
      download: batchAction.optional(),
    })
    .optional(),
  error: z.object({ code: z.number(), message: z.string() }).optional(),
});
const batchShape = z.object({ objects: z.array(answerShape) });
const errorShape = z.object({ message: z.string() });

export type BatchAction = z.output<typeof batchAction>;
export type BatchAnswer = z.output<typeof answerShape>;

/** A repo of ours, by its names. */
export interface RepoPlace {
  readonly tenant: string;
  readonly repo: string;
}

/** A repo of any LFS server. */
export interface LfsRepo {
  /** Asks its Batch API once. @throws {CliError} when the server did not answer. */
  batch(body: unknown): Promise<Answer>;
  /** What an answer means that is no batch, and what to do. */
  refusal(operation: Operation, answer: Answer): CliError;
}

export interface OwnRepo extends LfsRepo {
  /** Asks another route of it once. @throws {CliError} when the server did not answer. */
  post(route: string, body: unknown): Promise<Answer>;
}

/** A repo of the server that a command asks. */
export function ownRepo(client: ApiClient, place: RepoPlace): OwnRepo {
  const post = (route: string, body: unknown) =>
    client.exchange({
      method: 'POST',
      path: `/${place.tenant}/${place.repo}/info/lfs/objects/${route}`,
      body,
      mediaType,
    });
  return {
    batch: (body) => post('batch', body),
    post,
    refusal: (operation, answer) => refusal(place, operation, answer),
  };
}

export interface LfsObject {
  readonly oid: string;
  readonly sizeBytes: number;
}

export type Operation = 'upload' | 'download';

/**
 * Asks where up to 100 objects are transferred, again while the server is busy or out of reach.
 *
 * @returns oid → answer; `absent` if the tenant or the repo is not there for the token.
 * @throws {CliError}
 */
export async function askBatch(
  deps: DownloadDeps,
  repo: LfsRepo,
  { operation, objects }: { operation: Operation; objects: readonly LfsObject[] },
): Promise<ReadonlyMap<string, BatchAnswer> | 'absent'> {
  const batch = { operation, transfers: ['basic'], objects: objects.map(wireObject) };
  const refusal = (answer: Answer) => repo.refusal(operation, answer);
  const { status, body } = await untilAnswered(deps, () => repo.batch(batch), refusal);
  if (status === 404 && errorShape.safeParse(body).success) return 'absent';
  const parsed = batchShape.safeParse(body);
  if (status !== 200 || !parsed.success) throw repo.refusal(operation, { status, body });
  return new Map(parsed.data.objects.map((object) => [object.oid, object]));
}

export const wireObject = ({ oid, sizeBytes: size }: LfsObject) => ({ oid, size });

function refusal({ tenant }: RepoPlace, operation: Operation, { status, body }: Answer): CliError {
  if (status === 401 || status === 403)
    return new CliError(`The token was rejected for ${operation}s (${status}).`, {
      failure: 'unauthorized',
      hint:
        `Use a token of the tenant: the admin token can't ${operation}. ` +
        `Create one: lfs-quota token create ${tenant} --scope ${operation === 'upload' ? 'write' : 'read'}`,
    });
  const text = `The LFS API returned ${status}${whyOf(body)}`;
  if (status === 509)
    return new CliError(text, { failure: 'refused', hint: `See them: lfs-quota downloads ${tenant}` });
  return new CliError(text, {
    failure: isForNow(status) ? 'unavailable' : 'failed',
    hint: isForNow(status) ? 'Retry in a few seconds.' : 'Check --url or LFS_QUOTA_URL.',
  });
}

/** What an answer says of itself, after a colon. */
export function whyOf(body: unknown, otherwise = '.'): string {
  const parsed = errorShape.safeParse(body);
  return parsed.success ? `: ${parsed.data.message}` : otherwise;
}
