import { hostname, userInfo } from 'node:os';
import path from 'node:path';
import type { Command } from 'commander';
import * as z from 'zod';
import { newTokenSchema } from '../../lambda/http/management/tokens/schemas.ts';
import { ApiClient } from '../api-client.ts';
import { refusalError } from '../api-errors.ts';
import type { CliContext } from '../context.ts';
import { CliError } from '../errors.ts';
import { hasCredentialHelper, keepCredential, keptCredential } from '../git/credential.ts';
import { gitSetting, gitText } from '../git/git.ts';
import { ownLfsUrl } from '../git/lfs-address.ts';
import { openClient, parseLifetime, parseRepo, parseTenant, withServiceOptions } from '../options.ts';
import { printable } from '../printable.ts';

interface ConnectOptions {
  readonly url?: string;
  readonly token?: string;
  readonly clone: string;
  readonly readOnly?: boolean;
  readonly user?: string;
  readonly locks?: boolean;
  readonly expires?: number;
  readonly json?: boolean;
}

/** Of a token's label. */
const labelMax = 100;
const mediaType = 'application/vnd.git-lfs+json';
/** An object that nobody has: to ask for it tells whether a token may. */
const nobodysObject = { oid: '0'.repeat(64), size: 1 };

/** `connect`: the repository in this folder keeps its large files in a repo of the service from now on. */
export function registerConnect(program: Command, context: CliContext): void {
  withServiceOptions(program.command('connect'))
    .description('keep the large files of the repository in this folder in a repo of the service')
    .argument('<tenant>', 'name of the tenant', parseTenant)
    .argument('<repo>', 'name of the repo; the first push makes it', parseRepo)
    .option('--clone <dir>', 'another folder', '.')
    .option('--read-only', 'a token that clones and pulls, but does not push')
    .option('--user <name>', 'whom the new token stands for: the owner of its locks')
    .option('--locks', 'also have git-lfs look for file locks before each push (docs/locks.md)')
    .option(
      '--expires <time>',
      'how long the new token is valid, such as 90d (default: for ever)',
      parseLifetime,
    )
    .option('--json', 'print what was done as JSON')
    .action((tenant: string, repo: string, options: ConnectOptions) =>
      connect({ tenant, repo }, options, context),
    );
}

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
  const { token, tokenId } = await tokenFor(client, place, options);
  await tryToken(new ApiClient({ baseUrl, token, busy: client.busy }), place);
  await keep(clone, { baseUrl, token, place });
  const isCommitted = (await committedLfsUrl(clone)) === lfsUrl;
  const file = path.join(folder, '.lfsconfig');
  await gitText(clone, ['config', '--file', file, 'lfs.url', lfsUrl]);
  if (options.locks) await gitText(clone, ['config', '--file', file, 'lfs.locksverify', 'true']);
  if (options.json) return context.out(`${JSON.stringify({ ...place, lfsUrl, tokenId })}\n`);
  context.out(
    [
      `.lfsconfig     ${lfsUrl}`,
      `token          ${tokenId === null ? 'the one that was given' : `new, ${tokenId}`}; git's credential helper has it`,
      '',
      'Next:',
      ...(isCommitted ? nextInClone : nextInNew),
      '',
    ].join('\n'),
  );
}

const nextInNew = [
  "  git lfs install && git lfs track '*.bin'     # which files are large",
  '  git add . && git commit -m "Large files" && git push',
];
/** Somebody else has connected the repository before, and this is another clone. */
const nextInClone = ['  git lfs install && git lfs pull     # its large files'];

function committedLfsUrl(clone: string): Promise<string | undefined> {
  return gitSetting(clone, ['--blob', 'HEAD:.lfsconfig', '--get', 'lfs.url']);
}

async function workTreeOf(clone: string): Promise<string> {
  const top = await gitText(clone, ['rev-parse', '--show-toplevel']).catch(() => undefined);
  if (top !== undefined) return top;
  throw new CliError(`There is no repository with files in ${path.resolve(clone)}.`, {
    hint: 'Make one with `git init`, or name its folder with --clone.',
  });
}

async function refuseOwnAddress(clone: string, lfsUrl: string): Promise<void> {
  const own = await ownLfsUrl(clone);
  if (own === undefined || own === lfsUrl) return;
  throw new CliError("The clone's own lfs.url is another one, and beats that of .lfsconfig.", {
    hint: `Take it away, if it is not needed: git -C ${clone} config --unset lfs.url`,
  });
}

async function requireHelper(clone: string, baseUrl: string): Promise<void> {
  if (await hasCredentialHelper(clone, baseUrl)) return;
  throw new CliError('git has no credential helper, so it would ask for the token at each push.', {
    hint:
      'Set one: git config --global credential.helper osxkeychain (macOS), manager (Windows), libsecret (Linux),\n' +
      'or store, which keeps it in a file that only you can read.',
  });
}

/** A new token for this repo alone, if the one that was given may make some. Otherwise that one. */
async function tokenFor(
  client: ApiClient,
  { tenant, repo }: Place,
  { readOnly, user, expires }: ConnectOptions,
): Promise<{ token: string; tokenId: string | null }> {
  const path = `/v1/tenants/${tenant}/tokens`;
  const { status, body } = await client.exchange({
    method: 'POST',
    path,
    body: {
      scope: readOnly ? 'read' : 'write',
      repos: [repo],
      label: `${userInfo().username} on ${hostname()}`.slice(0, labelMax),
      ...(user !== undefined && { user }),
      ...(expires !== undefined && { expiresInSeconds: expires }),
    },
    mediaType: 'application/json',
  });
  const made = newTokenSchema.safeParse(body);
  if (status === 201 && made.success) return made.data;
  // A token that only clones or pushes: the person has no other.
  if (status === 403) return { token: client.token, tokenId: null };
  throw refusalError({ status, body, request: { method: 'POST', path }, baseUrl: client.baseUrl });
}

async function tryToken(client: ApiClient, { tenant, repo }: Place): Promise<void> {
  const { status, body } = await client.exchange({
    method: 'POST',
    path: `/${tenant}/${repo}/info/lfs/objects/batch`,
    body: { operation: 'download', objects: [nobodysObject] },
    mediaType,
  });
  if (status === 200) return;
  const said = z.object({ message: z.string() }).safeParse(body);
  const reason = said.success ? printable(said.data.message) : `the answer was ${status}`;
  throw new CliError(`The token is of no use for ${tenant}/${repo}: ${reason}`, {
    hint: 'Give a token of the tenant that may use this repo, with LFS_QUOTA_TOKEN or --token.',
    failure: status === 404 ? 'not-found' : 'unauthorized',
  });
}

/**
 * Gives the token to git's helper, for this repo alone: its user name is that of no other one, and only this clone asks
 * for it. Where no user name is set, as in repos that were connected by hand, git sends the same as before.
 */
async function keep(
  clone: string,
  { baseUrl, token, place: { tenant, repo } }: { baseUrl: string; token: string; place: Place },
): Promise<void> {
  const setting = `credential.${baseUrl}.username`;
  // It has none at the first time.
  await gitText(clone, ['config', '--unset-all', setting]).catch(() => undefined);
  const before = await keptCredential(clone, { url: baseUrl });
  // A tenant's name has no dot.
  const username = `${tenant}.${repo}`;
  await gitText(clone, ['config', setting, username]);
  await keepCredential(clone, { url: baseUrl, username, password: token });
  // Git's own helper answers with what it was given last.
  if (before !== undefined && before.username !== username) await keepCredential(clone, before);
  if ((await keptCredential(clone, { url: baseUrl, username }))?.password === token) return;
  throw new CliError("git's credential helper did not keep the token.", {
    hint: 'See what it says: `git credential fill`, with protocol= and host= on standard input.',
  });
}
