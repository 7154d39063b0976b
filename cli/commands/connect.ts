import { spawn } from 'node:child_process';
import { hostname, userInfo } from 'node:os';
import path from 'node:path';
import type { Command } from 'commander';
import * as z from 'zod';
import { tokenIdOf } from '../../lambda/accounts/rules/tokens.ts';
import { ApiClient, answerOf, type BodyOf, requestOf } from '../api-client.ts';
import type { CliContext } from '../context.ts';
import { CliError, refusalError } from '../errors.ts';
import { errorCharactersMax, gitSetting, gitText, noGit, ownLfsUrl } from '../git/git.ts';
import { openClient, parseLifetime, parseRepo, parseTenant, withServiceOptions } from '../options.ts';
import { formatUntil } from '../render.ts';
import { printable } from '../terminal.ts';

type TokenBody = BodyOf<'getToken'>;

interface ConnectOptions {
  readonly url?: string;
  readonly token?: string;
  readonly clone: string;
  readonly readOnly?: boolean;
  readonly user?: string;
  readonly locks?: boolean;
  /** `seconds: null`: never. */
  readonly expires?: { readonly seconds: number | null };
  readonly json?: boolean;
}

/** Of a token's label. */
const labelMax = 100;
const mediaType = 'application/vnd.git-lfs+json';
/** An object that isn't stored: asking for it shows whether a token works. */
const absentObject = { oid: '0'.repeat(64), size: 1 };
const day = 86_400;
const lifetimeSeconds = 90 * day;
/** A token that ends sooner than this is replaced by a new one. */
const renewedSeconds = 7 * day;

/** `connect`: the repository in this folder keeps its large files in a repo of the service from now on. */
export function registerConnect(program: Command, context: CliContext): void {
  withServiceOptions(program.command('connect'))
    .description('Set up this Git repository to use lfs-quota')
    .argument('<tenant>', 'name of the tenant', parseTenant)
    .argument('<repo>', 'name of the repo; the first push creates it', parseRepo)
    .option('--clone <dir>', 'another folder', '.')
    .option('--read-only', 'a read-only token')
    .option('--user <name>', 'owner of its locks (default: the user of the token you pass)')
    .option('--locks', 'also check file locks before each push (docs/git-users.md#lock-files)')
    .option(
      '--expires <time>',
      'lifetime of the new token, such as 30d, or never (default: 90d)',
      parseLifetimeOption,
    )
    .option('--json', 'print the result as JSON')
    .action((tenant: string, repo: string, options: ConnectOptions) =>
      connect({ tenant, repo }, options, context),
    );
}

/** A lifetime or `never`. commander would make null an empty text. */
const parseLifetimeOption = (text: string) => ({ seconds: text === 'never' ? null : parseLifetime(text) });

interface Place {
  readonly tenant: string;
  readonly repo: string;
}

async function connect(place: Place, options: ConnectOptions, context: CliContext): Promise<void> {
  const { clone } = options;
  const client = openClient(options, context, 'the admin token, or one of the tenant');
  const { baseUrl } = client;
  const lfsUrl = `${baseUrl}/${place.tenant}/${place.repo}/info/lfs`;
  const folder = await workTreeOf(clone);
  await refuseOwnAddress(clone, lfsUrl);
  await requireHelper(clone, baseUrl);
  const chosen = await chooseToken(client, place, { ...options, nowMs: context.nowMs() });
  const { token, made } = chosen;
  try {
    await tryToken(new ApiClient({ baseUrl, token, busy: client.busy }), place);
    // The helper may have it from another clone of the repo.
    if (chosen.isKept) await askFor(clone, baseUrl, credentialOf(baseUrl, place).username);
    else await keep(clone, { baseUrl, token, place });
  } catch (error) {
    if (made && !chosen.isKept) await revoke(client, { ...place, tokenId: made.tokenId });
    throw error;
  }
  if (chosen.replaces !== undefined) await revoke(client, { ...place, tokenId: chosen.replaces });
  const isCommitted = (await committedLfsUrl(clone)) === lfsUrl;
  const file = path.join(folder, '.lfsconfig');
  await gitText(clone, ['config', '--file', file, 'lfs.url', lfsUrl]);
  if (options.locks) await gitText(clone, ['config', '--file', file, 'lfs.locksverify', 'true']);
  const tokenId = made?.tokenId ?? null;
  if (options.json) return context.out(`${JSON.stringify({ ...place, lfsUrl, tokenId })}\n`);
  context.out(
    [
      `.lfsconfig  ${lfsUrl}`,
      `token       ${tokenText(chosen, context.nowMs())}`,
      '',
      'Next:',
      ...(isCommitted ? nextInClone : nextInNew),
      '',
    ].join('\n'),
  );
}

function tokenText({ made, isKept }: ChosenToken, nowMs: number): string {
  if (made === undefined) return "the one you passed, stored by Git's credential helper";
  const { tokenId, scope, user, expiresAt } = made;
  const until = expiresAt === null ? 'never expires' : `expires ${formatUntil(expiresAt, nowMs)}`;
  const owner = user === null ? '' : `, locks belong to ${printable(user)}`;
  return `${isKept ? 'unchanged' : 'new'}, ${tokenId}: ${scope}, ${until}${owner}`;
}

const nextInNew = [
  "  git lfs install && git lfs track '*.bin'     # which files are large",
  '  git add . && git commit -m "Large files" && git push',
];
/** The repository was connected before, in another clone. */
const nextInClone = ['  git lfs install && git lfs pull     # its large files'];

function committedLfsUrl(clone: string): Promise<string | undefined> {
  return gitSetting(clone, ['--blob', 'HEAD:.lfsconfig', '--get', 'lfs.url']);
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

async function requireHelper(clone: string, baseUrl: string): Promise<void> {
  if (await hasCredentialHelper(clone, baseUrl)) return;
  throw new CliError('Git has no credential helper, so every push would prompt.', {
    hint: `Set one: ${helperCommand()}`,
  });
}

/** A helper that comes with git on this system. */
function helperCommand(): string {
  const helpers: Partial<Record<NodeJS.Platform, string>> = { darwin: 'osxkeychain', win32: 'manager' };
  return `git config --global credential.helper ${helpers[process.platform] ?? "'cache --timeout=86400'"}`;
}

/** The token that git is to send for the repo. */
interface ChosenToken {
  readonly token: string;
  /** Git's credential helper has it already. */
  readonly isKept: boolean;
  /** What the service knows of it. undefined: it's the one that was passed. */
  readonly made: TokenBody | undefined;
  /** Id of the token that git had, and that an earlier `connect` made for this repo: nobody has it any more. */
  readonly replaces?: string | undefined;
}

/**
 * The token that git has for the repo, if it still works for a while and is what was asked for. Otherwise a new one for
 * this repo alone, or, if the token that was passed can't create any, that one.
 */
async function chooseToken(
  client: ApiClient,
  place: Place,
  options: ConnectOptions & { nowMs: number },
): Promise<ChosenToken> {
  const { tenant, repo } = place;
  const { clone, readOnly, user, expires } = options;
  const kept = await keptCredential(clone, credentialOf(client.baseUrl, place));
  const known = kept && (await findToken(client, tenant, kept.password));
  if (kept && known && isUsable(known, repo, options))
    return { token: kept.password, isKept: true, made: known };
  const owner = user ?? (await findToken(client, tenant, client.token))?.user;
  const request = requestOf('createToken', {
    params: { tenant },
    body: {
      scope: readOnly ? 'read' : 'write',
      repos: [repo],
      label: label(),
      ...(typeof owner === 'string' && { user: owner }),
      expiresInSeconds: expires === undefined ? lifetimeSeconds : expires.seconds,
    },
  });
  const { status, body } = await client.exchange({ ...request, mediaType: 'application/json' });
  const made = answerOf('createToken', status, body);
  if (status === 201 && made.success) {
    const isOfConnect = known?.label === label() && known.repos?.join() === repo;
    const replaces = isOfConnect ? known.tokenId : undefined;
    return { token: made.data.token, isKept: false, made: made.data, replaces };
  }
  // A token that only clones or pushes: the user has no other.
  if (status === 403) return { token: client.token, isKept: false, made: undefined };
  throw refusalError({ status, body, request, baseUrl: client.baseUrl });
}

const label = () => `${userInfo().username} on ${hostname()}`.slice(0, labelMax);

/** What the service knows of a token. undefined: nothing, or the client's token can't see it. */
async function findToken(client: ApiClient, tenant: string, token: string): Promise<TokenBody | undefined> {
  const params = { tenant, tokenId: tokenIdOf(token) };
  const request = requestOf('getToken', { params });
  const { status, body } = await client.exchange({ ...request, mediaType: 'application/json' });
  const found = answerOf('getToken', status, body);
  return status === 200 && found.success ? found.data : undefined;
}

/** Whether a token is what was asked for, now and in a week. A lifetime that was asked for is one from now on. */
function isUsable(
  { scope, repos, user, expiresAt }: TokenBody,
  repo: string,
  wanted: ConnectOptions & { nowMs: number },
): boolean {
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

async function tryToken(client: ApiClient, { tenant, repo }: Place): Promise<void> {
  const { status, body } = await client.exchange({
    method: 'POST',
    path: `/${tenant}/${repo}/info/lfs/objects/batch`,
    body: { operation: 'download', objects: [absentObject] },
    mediaType,
  });
  if (status === 200) return;
  const said = z.object({ message: z.string() }).safeParse(body);
  const reason = said.success ? printable(said.data.message) : `the response was ${status}`;
  throw new CliError(`This token can't access ${tenant}/${repo}: ${reason}`, {
    hint: 'Set LFS_QUOTA_TOKEN or --token to a token of the tenant with access to this repo.',
    failure: status === 404 ? 'not-found' : 'unauthorized',
  });
}

/** By its user name only this clone asks for the token. A tenant's name has no dot. */
const credentialOf = (url: string, { tenant, repo }: Place) => ({ url, username: `${tenant}.${repo}` });

/** Makes this clone ask the helper for a user's credential. undefined: for whichever it has. */
async function askFor(clone: string, baseUrl: string, username: string | undefined): Promise<void> {
  const setting = `credential.${baseUrl}.username`;
  // It has none at the first time.
  await gitText(clone, ['config', '--unset-all', setting]).catch(() => undefined);
  if (username !== undefined) await gitText(clone, ['config', setting, username]);
}

/**
 * Stores the token in git's helper, for this repo alone. Clones that were connected manually have no user name set, and
 * send the same as before.
 */
async function keep(
  clone: string,
  { baseUrl, token, place }: { baseUrl: string; token: string; place: Place },
): Promise<void> {
  await askFor(clone, baseUrl, undefined);
  const before = await keptCredential(clone, { url: baseUrl });
  const credential = credentialOf(baseUrl, place);
  await askFor(clone, baseUrl, credential.username);
  const said = await keepCredential(clone, { ...credential, password: token });
  // Git's own helper answers with what it was given last.
  if (before !== undefined && before.username !== credential.username) await keepCredential(clone, before);
  if ((await keptCredential(clone, credential))?.password === token) return;
  const helper = await gitSetting(clone, ['--get-urlmatch', 'credential.helper', baseUrl]);
  const why = said === '' ? '' : `: ${printable(said).replace(/\.+$/, '')}`;
  throw new CliError(`Git's credential helper "${printable(helper ?? '')}" didn't store the token${why}.`, {
    hint: `Set another one: ${helperCommand()}`,
  });
}

/** What git keeps for an address. */
interface GitCredential {
  readonly url: string;
  readonly username: string;
  readonly password: string;
}

/** Whether some credential helper of git is set for an address: without one nothing can be kept. */
async function hasCredentialHelper(clone: string, url: string): Promise<boolean> {
  return (await gitSetting(clone, ['--get-urlmatch', 'credential.helper', url])) !== undefined;
}

/**
 * Gives a credential to git's helpers, on standard input: no list of processes shows it.
 *
 * @returns what git said on standard error, such as that there is no such helper.
 * @throws {CliError} if git fails.
 */
async function keepCredential(clone: string, { url, username, password }: GitCredential): Promise<string> {
  const { said } = await credential(clone, 'approve', [
    `url=${url}`,
    `username=${username}`,
    `password=${password}`,
  ]);
  return said;
}

/**
 * What git's helpers have for an address, without asking anybody. undefined: they have nothing.
 *
 * @param of whose. Without a user name it is what git sends where the configuration has none either.
 */
async function keptCredential(
  clone: string,
  { url, username }: Pick<GitCredential, 'url'> & Partial<Pick<GitCredential, 'username'>>,
): Promise<GitCredential | undefined> {
  const lines = [`url=${url}`, ...(username === undefined ? [] : [`username=${username}`])];
  const { text } = await credential(clone, 'fill', lines).catch(() => ({ text: '' }));
  const [found, password] = ['username', 'password'].map(
    (key) => new RegExp(`^${key}=(.*)$`, 'm').exec(text)?.[1],
  );
  return found === undefined || password === undefined ? undefined : { url, username: found, password };
}

async function credential(
  clone: string,
  action: string,
  lines: readonly string[],
): Promise<{ text: string; said: string }> {
  const child = spawn('git', ['-C', clone, '-c', 'core.askPass=', 'credential', action], {
    env: {
      ...process.env,
      GIT_TERMINAL_PROMPT: '0',
      GIT_ASKPASS: '',
      SSH_ASKPASS: '',
      GCM_INTERACTIVE: 'never',
      LC_ALL: 'C',
    },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  child.stdin.on('error', () => undefined);
  child.stdin.end(`${lines.join('\n')}\n\n`);
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (piece: string) => {
    said = (said + piece).slice(-errorCharactersMax);
  });
  let text = '';
  for await (const piece of child.stdout.setEncoding('utf8')) text += piece;
  const code = await ended.catch((error: Error) => {
    throw noGit(error);
  });
  if (code !== 0)
    throw new CliError(`\`git credential ${action}\` failed with exit code ${code}.`, {
      hint: 'Check your helper: git config --get-all credential.helper',
    });
  return { text, said: said.trim().split('\n')[0] ?? '' };
}
