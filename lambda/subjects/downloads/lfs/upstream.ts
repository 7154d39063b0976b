import * as z from 'zod';
import type { Clock, Log } from '../../../core/rules/clock-and-log.ts';
import { refusalOf, requestJson } from '../../hosts/git-hosts.ts';
import { type GitHost, isGitHostUrl, webUrlOf } from '../../hosts/rules/git-hosts.ts';
import { GitHostUnavailableError } from '../../hosts/rules/host-client.ts';
import type { UpstreamVerdict } from '../../lfs/seams.ts';
import { hrefCharactersMax, type UpstreamFailure } from '../rules/copies.ts';
import { objectNotUpstream } from './lfs-messages.ts';

/**
 * Asks the LFS API of a repository's git host for what is missing here, as its user. The host is one that the operator set,
 * and the user's credentials go to it alone. They are kept nowhere.
 */

/** A repository whose host has what is missing here. */
interface UpstreamRepo {
  readonly host: GitHost;
  /** Its full name there. */
  readonly name: string;
  /** The user's own, as the request has it: Basic or Bearer. */
  readonly authorization: string;
}

/** For the answer to a request, whole. */
const answerMs = 8_000;
/** Objects of one request, as git-lfs asks for them. Each host takes so many. */
const objectsAtOnce = 100;
/** Of an answer: so much, and so much more for each of its objects: signed URLs have some 2 kB. Lambda answers 6 MB. */
const answerBytes = { least: 16_000, perObject: 4_000 };
/** A client that can't read one number reads nothing of the answer. */
const expiresInMsMax = 7 * 24 * 3_600_000;
const headersMax = 20;
const mediaType = 'application/vnd.git-lfs+json';

const answerShape = z.object({
  transfer: z.literal('basic').nullish(),
  objects: z.array(z.unknown()).max(objectsAtOnce),
});

/** A wrong one is as none: the others hold. */
const objectShape = z.object({
  oid: z.string(),
  size: z.number(),
  authenticated: z.boolean().nullish(),
  error: z.null().optional(),
  actions: z.object({
    download: z.object({
      href: z
        .string()
        .max(hrefCharactersMax)
        .regex(/^[\x21-\x7e]+$/),
      header: z
        .record(
          z.string().regex(/^[\w-]{1,100}$/),
          z
            .string()
            .max(hrefCharactersMax)
            .regex(/^[\x20-\x7e]*$/),
        )
        .refine((header) => Object.keys(header).length <= headersMax)
        .nullish(),
      expires_in: z.number().nullish(),
      expires_at: z.string().nullish(),
    }),
  }),
});

interface Asked {
  readonly tenant: string;
  readonly repo: string;
  readonly upstream: UpstreamRepo;
  /** oid → bytes. */
  readonly objects: ReadonlyMap<string, number>;
  /** What expires at no time there is said to expire after this. */
  readonly lifetimeMs: number;
  readonly timeoutMs?: number;
}

/** Asks for objects, all at once. @returns what is said of each of them. */
export async function askUpstream(
  deps: { readonly clock: Pick<Clock, 'nowMs'>; readonly log: Log },
  asked: Asked,
): Promise<ReadonlyMap<string, UpstreamVerdict>> {
  const { tenant, repo, upstream } = asked;
  const all = [...asked.objects];
  const pieces = Array.from({ length: Math.ceil(all.length / objectsAtOnce) }, (_, index) =>
    all.slice(index * objectsAtOnce, (index + 1) * objectsAtOnce),
  );
  const answers = await Promise.all(pieces.map((objects) => askFor(deps, asked, new Map(objects))));
  const verdicts = new Map(answers.flatMap((answer) => [...answer]));
  const found = [...verdicts.values()].filter(({ kind }) => kind === 'upstream').length;
  const host = upstream.host.id;
  deps.log.info('asked upstream', { tenant, repo, host, objectCount: all.length, found });
  return verdicts;
}

async function askFor(
  { clock, log }: Parameters<typeof askUpstream>[0],
  asked: Asked,
  objects: ReadonlyMap<string, number>,
): Promise<Map<string, UpstreamVerdict>> {
  const { tenant, repo, upstream, timeoutMs = answerMs } = asked;
  const { host, name, authorization } = upstream;
  const none = (why: UpstreamFailure) =>
    new Map(
      [...objects.keys()].map(
        (oid) => [oid, { kind: 'missing', message: objectNotUpstream({ host: host.id, why }) }] as const,
      ),
    );
  try {
    const got = await requestJson({
      // Each kind has its LFS API below the URL that git clones.
      url: `${webUrlOf(host)}/${name.split('/').map(encodeURIComponent).join('/')}.git/info/lfs/objects/batch`,
      method: 'POST',
      headers: { accept: mediaType, 'content-type': mediaType, authorization: basicOf(authorization) },
      body: JSON.stringify({
        operation: 'download',
        transfers: ['basic'],
        objects: [...objects].map(([oid, size]) => ({ oid, size })),
      }),
      bytesMax: answerBytes.least + answerBytes.perObject * objects.size,
      signal: AbortSignal.timeout(timeoutMs),
    });
    const refusal = refusalOf(got, clock.nowMs());
    if (refusal) return none(refusal.kind === 'limited' ? 'limited' : 'rejected');
    const answer = answerShape.safeParse(got.body);
    if (!answer.success) throw new GitHostUnavailableError('A git host returned an unexpected response.');
    const offers = answer.data.objects.flatMap((object) =>
      offerOf(object, { ...asked, objects, nowMs: clock.nowMs() }),
    );
    return new Map<string, UpstreamVerdict>([...none('absent'), ...offers]);
  } catch (error) {
    if (!(error instanceof GitHostUnavailableError)) throw error;
    log.warn('git host unavailable', { tenant, repo, host: host.id, error });
    return none('unavailable');
  }
}

/** What is said of one object, if it was asked for and can be downloaded. */
function offerOf(
  value: unknown,
  { objects, upstream, lifetimeMs, nowMs }: Asked & { nowMs: number },
): [string, UpstreamVerdict][] {
  const parsed = objectShape.safeParse(value);
  if (!parsed.success) return [];
  const { oid, size, authenticated, actions } = parsed.data;
  const { href, header, expires_in: seconds, expires_at: expiresAt } = actions.download;
  if (objects.get(oid) !== size || !isDownloadUrl(href, upstream.host)) return [];
  const leftMs = typeof seconds === 'number' ? 1000 * seconds : Date.parse(expiresAt ?? '') - nowMs;
  const expiresInMs = Number.isFinite(leftMs) ? Math.min(Math.max(0, leftMs), expiresInMsMax) : lifetimeMs;
  const get = { href, header: header ?? {} };
  return [[oid, { kind: 'upstream', get, expiresInMs, isAuthenticated: authenticated === true }]];
}

/** Encrypted, and without a login. Of a host on this machine, what is on this machine too. */
function isDownloadUrl(href: string, { url }: Pick<GitHost, 'url'>): boolean {
  if (!URL.canParse(href)) return false;
  const { protocol, origin, username, password } = new URL(href);
  if (username !== '' || password !== '') return false;
  return protocol === 'https:' || (url.startsWith('http:') && isGitHostUrl(origin, { allowsLoopback: true }));
}

/** LFS APIs take Basic alone. Any user name will do with a token, and GitLab wants this one for some. */
function basicOf(authorization: string): string {
  const token = /^bearer +(\S+) *$/i.exec(authorization)?.[1];
  return token === undefined ? authorization : `Basic ${Buffer.from(`oauth2:${token}`).toString('base64')}`;
}
