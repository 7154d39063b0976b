import { existsSync } from 'node:fs';
import path from 'node:path';
import { Option } from 'commander';
import { tokenIdOf } from '../../lambda/frame/access/rules/tokens.ts';
import { ApiClient, answerOf, type BodyOf, requestOf } from '../api-client.ts';
import { actionCommand, type CliSubject, flag, given, operand, option } from '../command.ts';
import { changeCredentials, readCredentials, withGitToken } from '../credentials.ts';
import { CliError } from '../errors.ts';
import { lasting, missingLfs, setHelper } from '../git/credential-helper.ts';
import { gitSetting, gitText, ownLfsUrl } from '../git/git.ts';
import { ownRepo, type RepoPlace, whyOf } from '../lfs-batch.ts';
import { parseLifetime, parseRepo, parseTenant, withServiceOptions } from '../options.ts';
import { formatUntil } from '../render.ts';
import { machineName } from './auth.ts';

type TokenBody = BodyOf<'getToken'>;

/** An object that isn't stored: asking for it shows whether a token works. */
const absentObject = { oid: '0'.repeat(64), size: 1 };
const day = 86_400;
const lifetimeSeconds = 90 * day;
/** A token that ends sooner than this is replaced by a new one. */
const renewedSeconds = 7 * day;

/** A lifetime or `never`. commander would make null an empty text. */
const parseLifetimeOption = (text: string) => ({ seconds: text === 'never' ? null : parseLifetime(text) });

const connectOptions = {
  clone: given<string>(new Option('--clone <dir>', 'another folder').default('.')),
  readOnly: flag('--read-only', 'a read-only token'),
  user: option('--user <name>', 'owner of its locks (default: the user of the token you pass)'),
  locks: flag('--locks', 'also check file locks before each push (docs/git-users.md#lock-files)'),
  expires: option(
    '--expires <time>',
    'lifetime of the new token, such as 30d, or never (default: 90d)',
    parseLifetimeOption,
  ),
  json: flag('--json', 'print the result as JSON'),
};

/** `connect`: the repository in this folder keeps its large files in a repo of the service from now on. */
export const connectCommand = (changes: readonly NonNullable<CliSubject['connect']>[]) =>
  actionCommand({
    name: 'connect',
    description: 'Set up this Git repository to use lfs-quota',
    base: withServiceOptions,
    operands: {
      tenant: operand('<tenant>', 'name of the tenant', parseTenant),
      repo: operand('<repo>', 'name of the repo; the first push creates it', parseRepo),
    },
    options: connectOptions,
    wanted: 'the admin token, or one of the tenant',
    run: async (client, { operands: place, options, context }) => {
      const { clone } = options;
      const { baseUrl } = client;
      const lfsUrl = `${baseUrl}/${place.tenant}/${place.repo}/info/lfs`;
      const folder = await workTreeOf(clone);
      await refuseOwnAddress(clone, lfsUrl);
      const committed = await gitSetting(clone, ['--blob', 'HEAD:.lfsconfig', '--get', 'lfs.url']);
      const isCommitted = committed === lfsUrl;
      const isBroken = await lacksIndex(clone);
      const { git, logins } = readCredentials(context);
      const username = usernameOf(place);
      const kept = git[baseUrl]?.[username];
      const chosen = await chooseToken(client, place, { ...options, kept, nowMs: context.nowMs() });
      const { token, made } = chosen;
      try {
        await tryToken(new ApiClient({ baseUrl, token, busy: client.busy }), place);
        // A login is stored already.
        const ofGit = token === logins[baseUrl]?.token ? null : token;
        if (!chosen.isKept)
          await changeCredentials(context, (all) =>
            withGitToken(all, { url: baseUrl, username, token: ofGit }),
          );
        const user = await lasting(context);
        await setHelper(baseUrl, user, ['-C', path.resolve(clone), 'config']);
        await gitText(clone, ['config', '--replace-all', `credential.${baseUrl}.username`, username]);
        for (const change of changes) await change(clone, user);
      } catch (error) {
        if (made && !chosen.isKept) await revoke(client, { ...place, tokenId: made.tokenId });
        throw error;
      }
      if (chosen.replaces !== undefined) await revoke(client, { ...place, tokenId: chosen.replaces });
      const file = path.join(folder, '.lfsconfig');
      await gitText(clone, ['config', '--file', file, 'lfs.url', lfsUrl]);
      if (options.locks) await gitText(clone, ['config', '--file', file, 'lfs.locksverify', 'true']);
      context.err(await missingLfs(context));
      const { tokenId } = chosen.shown;
      if (options.json) return context.out(`${JSON.stringify({ ...place, lfsUrl, tokenId })}\n`);
      context.out(
        [
          `.lfsconfig  ${lfsUrl}`,
          `token       ${tokenText(chosen, context.nowMs())}`,
          '',
          'Next:',
          ...(isBroken ? nextInBroken(isCommitted) : isCommitted ? nextInClone : nextInNew),
          '',
        ].join('\n'),
      );
    },
  });

function tokenText({ made, isKept, shown }: ChosenToken, nowMs: number): string {
  const { tokenId, scope, user, expiresAt } = shown;
  const until = expiresAt === null ? 'never expires' : `expires ${formatUntil(expiresAt, nowMs)}`;
  const owner = user === null ? '' : `, locks belong to ${user}`;
  return `${isKept ? 'unchanged' : made ? 'new' : 'yours'}, ${tokenId}: ${scope}, ${until}${owner}`;
}

const nextInNew = [
  "  git lfs install && git lfs track '*.bin'     # which files are large",
  '  git add . && git commit -m "Large files" && git push -u origin HEAD',
];
/** The repository was connected before, in another clone. */
const nextInClone = ['  git lfs install && git lfs pull     # its large files'];

/** `smudge filter lfs failed`: git stopped, and `git lfs pull` has no index. Another `.lfsconfig` comes back with the rest. */
const nextInBroken = (isCommitted: boolean) =>
  isCommitted
    ? ['  git lfs install && git reset --hard     # all files: the checkout stopped']
    : ['  GIT_LFS_SKIP_SMUDGE=1 git reset --hard     # the checkout stopped. Then connect again'];

/** Whether a clone has a commit, and not its files: the checkout stopped before git wrote the index. */
async function lacksIndex(clone: string): Promise<boolean> {
  const ask = (...args: string[]) => gitText(clone, args).catch(() => undefined);
  const head = await ask('rev-parse', '--verify', '--quiet', 'HEAD');
  const index = head && (await ask('rev-parse', '--git-path', 'index'));
  return Boolean(index) && !existsSync(path.resolve(clone, String(index)));
}

async function workTreeOf(clone: string): Promise<string> {
  const top = await gitText(clone, ['rev-parse', '--show-toplevel']).catch(() => undefined);
  if (top !== undefined) return top;
  throw new CliError(`No Git repository with files in ${path.resolve(clone)}.`, {
    hint: 'Run git init, or pass its folder with --clone.',
  });
}

async function refuseOwnAddress(clone: string, lfsUrl: string): Promise<void> {
  const own = await ownLfsUrl(clone);
  if (own === undefined || own === lfsUrl) return;
  throw new CliError("This clone's own lfs.url overrides .lfsconfig.", {
    hint: `Remove it if you don't need it: git -C ${clone} config --unset lfs.url`,
  });
}

interface WantedToken {
  readonly readOnly: boolean | undefined;
  readonly user: string | undefined;
  /** `seconds: null`: never. */
  readonly expires: { readonly seconds: number | null } | undefined;
  readonly nowMs: number;
}

/** The token that git is to send for the repo. */
interface ChosenToken {
  readonly token: string;
  /** It's stored for this repo already. */
  readonly isKept: boolean;
  /** What the service knows of it. undefined: it's the one that was passed. */
  readonly made: TokenBody | undefined;
  readonly shown: Pick<BodyOf<'showSession'>, 'tokenId' | 'scope' | 'user' | 'expiresAt'>;
  /** Id of the token that was stored, and that an earlier `connect` made for this repo: nobody has it any more. */
  readonly replaces?: string | undefined;
}

/**
 * The token that is stored for the repo, if it still works for a while and is what was asked for. Otherwise a new one for
 * this repo alone, or, if the token that was passed can't create any, that one.
 */
async function chooseToken(
  client: ApiClient,
  place: RepoPlace,
  options: WantedToken & { kept: string | undefined },
): Promise<ChosenToken> {
  const { tenant, repo } = place;
  const { kept, readOnly, user, expires } = options;
  const known = kept === undefined ? undefined : await findToken(client, tenant, kept);
  if (kept !== undefined && known && isUsable(known, repo, options))
    return { token: kept, isKept: true, made: known, shown: known };
  const owner = user ?? (await findToken(client, tenant, client.token))?.user;
  const request = requestOf('createToken', {
    params: { tenant },
    body: {
      scope: readOnly ? 'read' : 'write',
      repos: [repo],
      label: machineName(),
      ...(typeof owner === 'string' && { user: owner }),
      expiresInSeconds: expires === undefined ? lifetimeSeconds : expires.seconds,
    },
  });
  const { status, body } = await client.exchange({ ...request, mediaType: 'application/json' });
  const made = answerOf('createToken', status, body);
  if (status === 201 && made.success) {
    const isOfConnect = known?.label === machineName() && known.repos?.join() === repo;
    const replaces = isOfConnect ? known.tokenId : undefined;
    return { token: made.data.token, isKept: false, made: made.data, shown: made.data, replaces };
  }
  // A token that only clones or pushes: the user has no other.
  if (status === 403) {
    const { body: shown } = await client.ask('showSession');
    return { token: client.token, isKept: false, made: undefined, shown };
  }
  throw client.refusal({ status, body, request });
}

/** What the service knows of a token. undefined: nothing, or the client's token can't see it. */
async function findToken(client: ApiClient, tenant: string, token: string): Promise<TokenBody | undefined> {
  const params = { tenant, tokenId: tokenIdOf(token) };
  const request = requestOf('getToken', { params });
  const { status, body } = await client.exchange({ ...request, mediaType: 'application/json' });
  const found = answerOf('getToken', status, body);
  return status === 200 && found.success ? found.data : undefined;
}

/** Whether a token is what was asked for, now and in a week. A lifetime that was asked for is one from now on. */
function isUsable({ scope, repos, user, expiresAt }: TokenBody, repo: string, wanted: WantedToken): boolean {
  if (wanted.expires !== undefined || (scope === 'read') !== (wanted.readOnly === true)) return false;
  if (repos !== null && !repos.includes(repo)) return false;
  if (wanted.user !== undefined && user !== wanted.user) return false;
  return expiresAt === null || Date.parse(expiresAt) > wanted.nowMs + renewedSeconds * 1000;
}

/** Revokes what git couldn't keep, or has no longer. If that fails too, the token ends by itself. */
async function revoke(
  client: ApiClient,
  { tenant, tokenId }: { tenant: string; tokenId: string },
): Promise<void> {
  await client.ask('revokeToken', { params: { tenant, tokenId } }).catch(() => undefined);
}

async function tryToken(client: ApiClient, { tenant, repo }: RepoPlace): Promise<void> {
  const asked = { operation: 'download', objects: [absentObject] };
  const { status, body } = await ownRepo(client, { tenant, repo }).batch(asked);
  if (status === 200) return;
  const why = whyOf(body, `: the response was ${status}.`);
  throw new CliError(`This token can't access ${tenant}/${repo}${why}`, {
    hint: `Log in with a token of ${tenant} with access to this repo: lfs-quota login ${client.baseUrl}`,
    failure: status === 404 ? 'not-found' : 'unauthorized',
  });
}

/** By its user name only this clone asks for the token. A tenant's name has no dot. */
const usernameOf = ({ tenant, repo }: RepoPlace) => `${tenant}.${repo}`;
