import { z } from 'zod';
import type { ApiClient } from '../api-client.ts';
import { CliError } from '../errors.ts';
import { printable } from '../printable.ts';
import type { Retries } from './retries.ts';

/** Objects of one batch, as git-lfs asks for them. */
export const batchObjectsMax = 100;
/** A URL is not used in its last seconds. */
const marginMs = 10_000;
/** Of a URL that does not say how long it is valid. */
const lifetimeMsDefault = 60_000;

const mediaType = 'application/vnd.git-lfs+json';

const action = z.object({
  href: z.url(),
  header: z.record(z.string(), z.string()).optional(),
  expires_in: z.number().optional(),
});
const batchShape = z.object({
  objects: z.array(
    z.object({
      oid: z.string(),
      actions: z.object({ download: action.optional() }).optional(),
      error: z.object({ code: z.number(), message: z.string() }).optional(),
    }),
  ),
});
const errorShape = z.object({ message: z.string() });

/** Where an object is downloaded, or why it is not. */
export type Offer =
  | {
      readonly kind: 'offered';
      readonly href: string;
      readonly header: Readonly<Record<string, string>>;
      readonly validUntilMs: number;
    }
  /** It is not stored any more. */
  | { readonly kind: 'gone' }
  | { readonly kind: 'refused'; readonly message: string };

export interface BatchPlace {
  readonly tenant: string;
  readonly repo: string;
}

export interface BatchDeps {
  readonly client: ApiClient;
  readonly retries: Retries;
  readonly nowMs: () => number;
}

/**
 * Asks where objects are downloaded. Tries again while the server does not answer, or asks to wait.
 *
 * @param objects at most {@link batchObjectsMax}. @returns oid → offer, one for each object.
 * @throws {CliError}
 */
export async function askForDownloads(
  deps: BatchDeps,
  place: BatchPlace,
  objects: readonly { readonly oid: string; readonly sizeBytes: number }[],
): Promise<ReadonlyMap<string, Offer>> {
  const offers = await ask(deps, place, objects);
  if (offers !== 'absent') return offers;
  // A token that was changed meanwhile must not make an archive without objects: it is the repo alone that is gone.
  await checkMayDownload(deps, { tenant: place.tenant, repo: null });
  return new Map(objects.map(({ oid }) => [oid, { kind: 'gone' }]));
}

/**
 * Looks whether a token may download from a tenant, or from one of its repos.
 *
 * @throws {CliError} that says which token to use.
 */
export async function checkMayDownload(
  deps: BatchDeps,
  { tenant, repo }: { tenant: string; repo: string | null },
): Promise<void> {
  const nothing = { oid: '0'.repeat(64), sizeBytes: 0 };
  if ((await ask(deps, { tenant, repo: repo ?? 'any' }, [nothing])) !== 'absent') return;
  const what = repo === null ? `no tenant ${tenant}` : `no tenant ${tenant}, or no repo ${repo}`;
  throw new CliError(`There is ${what} for this token (404).`, {
    failure: 'not-found',
    hint:
      'It does not exist, is being deleted, or the token is one of another tenant. ' +
      `Give a token of ${tenant} with LFS_QUOTA_TOKEN or --token.`,
  });
}

/** @returns `absent` if the tenant or the repo is not there for the token. */
async function ask(
  { client, retries, nowMs }: BatchDeps,
  place: BatchPlace,
  objects: readonly { readonly oid: string; readonly sizeBytes: number }[],
): Promise<ReadonlyMap<string, Offer> | 'absent'> {
  const askedAtMs = nowMs();
  const { status, body } = await retries.run(async () => {
    const answer = await client.exchange({
      method: 'POST',
      path: `/${place.tenant}/${place.repo}/info/lfs/objects/batch`,
      body: {
        operation: 'download',
        transfers: ['basic'],
        objects: objects.map(({ oid, sizeBytes: size }) => ({ oid, size })),
      },
      mediaType,
    });
    const isForNow = answer.status === 429 || answer.status >= 500;
    return isForNow ? { kind: 'failed', error: refusal(place, answer) } : { kind: 'done', value: answer };
  });
  if (status === 404 && errorShape.safeParse(body).success) return 'absent';
  const parsed = batchShape.safeParse(body);
  if (status !== 200 || !parsed.success) throw refusal(place, { status, body });
  const answers = new Map(parsed.data.objects.map((object) => [object.oid, object]));
  return new Map(objects.map(({ oid }) => [oid, offerOf(answers.get(oid), askedAtMs)]));
}

function offerOf(
  answer: z.output<typeof batchShape>['objects'][number] | undefined,
  askedAtMs: number,
): Offer {
  const download = answer?.actions?.download;
  if (download) {
    const { href, header = {}, expires_in } = download;
    const lifetimeMs = expires_in === undefined ? lifetimeMsDefault : expires_in * 1000;
    return { kind: 'offered', href, header, validUntilMs: askedAtMs + lifetimeMs - marginMs };
  }
  if (answer?.error?.code === 404) return { kind: 'gone' };
  return { kind: 'refused', message: printable(answer?.error?.message ?? 'The server offered no download.') };
}

function refusal({ tenant }: BatchPlace, { status, body }: { status: number; body: unknown }): CliError {
  if (status === 401 || status === 403)
    return new CliError(`The token was rejected for downloads (${status}).`, {
      failure: 'unauthorized',
      hint:
        'Set LFS_QUOTA_TOKEN (or --token) to a token of the tenant: the admin token downloads nothing. ' +
        `Make one with \`lfs-quota token create ${tenant} --scope read\`.`,
    });
  const parsed = errorShape.safeParse(body);
  const why = parsed.success ? `: ${printable(parsed.data.message)}` : '.';
  const isForNow = status >= 500 || status === 429;
  return new CliError(`The LFS API answered ${status}${why}`, {
    failure: isForNow ? 'unavailable' : 'failed',
    hint: isForNow ? 'Try again in a moment.' : 'Check --url or LFS_QUOTA_URL.',
  });
}
