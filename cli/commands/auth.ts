import { hostname, userInfo } from 'node:os';
import { Argument } from 'commander';
import { isTenantName } from '../../lambda/core/rules/names.ts';
import { type ApiClient, type BodyOf, isProblem } from '../api-client.ts';
import { actionCommand, type CliSubject, type Register } from '../command.ts';
import { asCalled, type CliContext } from '../context.ts';
import {
  type Credentials,
  changeCredentials,
  readCredentials,
  withGitToken,
  withLogin,
  withoutServer,
} from '../credentials.ts';
import { CliError, endedText, UsageError } from '../errors.ts';
import { isHelperOf, lasting, missingLfs, setHelper, unsetHelper } from '../git/credential-helper.ts';
import { formatUntil } from '../render.ts';
import { checkedToken, clientFor, defaultUrl, readBaseUrl } from '../server.ts';
import { printable } from '../terminal.ts';

type SessionBody = BodyOf<'showSession'>;

/** Of a user, as the server shows it. */
export const machineName = () => `${userInfo().username} on ${hostname()}`.slice(0, 100);

interface LoginOptions {
  readonly withToken?: boolean;
  readonly user?: string;
  readonly git: boolean;
}

/** `login`: the token of a server, once for all commands and for git. */
export const registerLogin =
  (subjects: readonly CliSubject[]): Register =>
  (program, context) => {
    const ways = subjects.flatMap(({ logIn }) => logIn ?? []);
    const [invited] = subjects.flatMap((subject) => subject.invited ?? []);
    const command = program.command('login').description('Log in to a server: for all commands, and for Git');
    if (invited)
      command.option('--user <name>', 'your name, if the invitation has none (default: your system user)');
    command
      .argument('<url>', `server URL${invited ? ', or the link of an invitation in quotes' : ''}`)
      .option('--with-token', 'paste a token, or read it from standard input')
      .option(...noGitOption)
      .action(async (url: string, options: LoginOptions) => {
        if (invited?.isLink(url)) return invited.logIn(url, options, context);
        if (options.user !== undefined) throw new UsageError('Use --user only with an invitation link.');
        const baseUrl = readBaseUrl(url, defaultUrl);
        await requireServer(clientFor(context, { baseUrl, token: '' }));
        const isAsked = options.withToken || context.ask === undefined;
        let token: string | undefined;
        for (const way of isAsked ? [] : ways) token ??= await way(baseUrl, context);
        token ??= await readToken(baseUrl, context);
        context.out(await logIn(context, { baseUrl, token, forGit: options.git }));
      });
  };

/** For jobs, and for users who set git up themselves. */
const noGitOption = ['--no-git', "don't change Git's settings"] as const;

export const sessionRequest = { method: 'GET', path: '/v1/session', mediaType: 'application/json' } as const;

/** Before a token is asked for, or sent. @throws {CliError} if another server answers, or nothing is at this path. */
async function requireServer(client: ApiClient): Promise<void> {
  const { baseUrl } = client;
  const { status, body } = await client.exchange(sessionRequest);
  if (status === 404 || !isProblem(body))
    throw new CliError(`${baseUrl} isn't an lfs-quota server: it returned ${status}.`, {
      hint: "Check the URL. Use the server's, or a repo's lfs.url.",
      cause: client.refusal({ status, body, request: sessionRequest }),
    });
}

/** Stores a token that the server accepts, for git too. @returns what was logged in to, for a person. @throws {CliError} */
export async function logIn(
  context: CliContext,
  { baseUrl, token, forGit }: { baseUrl: string; token: string; forGit: boolean },
): Promise<string> {
  const { body } = await clientFor(context, { baseUrl, token: checkedToken(token) }).ask('showSession');
  // It goes to git as it is, a line of its own.
  if (body.tenant !== null && !isTenantName(body.tenant))
    throw new CliError(`${baseUrl} returned an invalid tenant name.`, { hint: 'Check the URL.' });
  await changeCredentials(context, (all) => withLogin(all, baseUrl, { token, tenant: body.tenant }));
  const said = `Logged in.\n${sessionText(baseUrl, body, context)}`;
  // Git gets no admin token.
  if (!forGit || body.tenant === null) return said;
  try {
    await setHelper(baseUrl, await lasting(context));
    context.err(await missingLfs(context));
    return `${said}git     uses this login\n`;
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    const text = `Git can't use this login yet. ${printable(error.message)}\nIn each clone, run: lfs-quota connect TENANT REPO\n`;
    context.err(asCalled(text, context));
    return said;
  }
}

async function readToken(baseUrl: string, context: CliContext): Promise<string> {
  const text = context.askSecret
    ? await context.askSecret(`Token for ${baseUrl}: `)
    : ((await context.readInput?.()) ?? '');
  if (text.trim() === '')
    throw new UsageError('No token. Paste it, or use standard input. Only a terminal gets a link.');
  return text.trim();
}

export const registerLogout: Register = (program, context) => {
  program
    .command('logout')
    .description('Log out: delete the stored tokens of a server')
    .argument('[url]', 'server URL (default: the only login)')
    .action(async (url: string | undefined) => {
      const { logins, git } = readCredentials(context);
      const urls = [...new Set([...Object.keys(logins), ...Object.keys(git)])];
      const only = urls.length === 1 ? urls[0] : undefined;
      const baseUrl = url === undefined ? only : readBaseUrl(url, defaultUrl);
      if (baseUrl === undefined && urls.length > 1)
        throw new UsageError(`You're logged in to ${urls.length} servers. Pass one: ${urls.join(', ')}`);
      if (baseUrl === undefined || !urls.includes(baseUrl))
        throw new UsageError(`You aren't logged in${baseUrl === undefined ? '' : ` to ${baseUrl}`}.`);
      await changeCredentials(context, (all) => withoutServer(all, baseUrl));
      context.out(`Logged out of ${baseUrl}. The tokens still work: an admin can revoke them.\n`);
      await unsetHelper(baseUrl, context);
    });
};

export const whoamiCommand = actionCommand({
  name: 'whoami',
  description: 'Show your server, tenant and token',
  run: async (client, { options, context }) => {
    const { body, text } = await client.ask('showSession');
    context.out(options.json ? `${text}\n` : sessionText(client.baseUrl, body, context));
  },
});

function sessionText(baseUrl: string, session: SessionBody, { nowMs }: CliContext): string {
  const { tenant, user, label, tokenId, scope, repos, expiresAt } = session;
  const until = expiresAt === null ? 'never expires' : `expires ${formatUntil(expiresAt, nowMs())}`;
  return [
    `server  ${baseUrl}`,
    ...(tenant === null ? ['tenant  all: this is the admin token'] : [`tenant  ${tenant}`]),
    ...(user === null ? [] : [`user    ${user}`]),
    ...(tokenId === null ? [] : [`token   ${tokenId}: ${scope}, ${until}`]),
    ...(label === null ? [] : [`label   ${label}`]),
    ...(repos === null ? [] : [`repos   ${repos.join(', ')}`]),
    '',
  ].join('\n');
}

/** `auth git-credential`: a credential helper of git, for servers that are logged in to. */
export const registerAuth: Register = (program, context) => {
  program
    .command('auth', { hidden: true })
    .description("Act as Git's credential helper (set by connect)")
    .command('git-credential')
    .description("Answer Git's credential requests for your servers")
    .addArgument(new Argument('<action>', 'what Git asks for').choices(['get', 'store', 'erase']))
    .action(async (action: 'get' | 'store' | 'erase') => {
      const asked = fieldsOf((await context.readInput?.()) ?? '');
      const credentials = readCredentials(context);
      const url = serverOf(credentials, asked);
      if (url === undefined) return action === 'get' ? sayLoggedOut(asked, context) : undefined;
      if (action !== 'get') return keep(context, { action, url, asked });
      const answer = answerOf(credentials, url, asked);
      const { tenant, isRejected } = credentials.logins[url] ?? {};
      if (answer === '' && isRejected) context.err(endedLine(String(tenant), url, context));
      context.out(answer);
    });
};

type Fields = ReadonlyMap<string, string>;

/** Lines of `key=value` up to an empty one, as https://git-scm.com/docs/git-credential has them. */
function fieldsOf(text: string): Fields {
  const [lines = ''] = text.split(/\r?\n\r?\n/);
  return new Map(
    lines.split(/\r?\n/).flatMap((line) => {
      const at = line.indexOf('=');
      return at < 1 ? [] : [[line.slice(0, at), line.slice(at + 1)] as const];
    }),
  );
}

/** The server of a request. undefined: another's, for which other helpers are asked. */
function serverOf({ logins, git }: Credentials, asked: Fields): string | undefined {
  const origin = `${asked.get('protocol')}://${asked.get('host')}`;
  const path = asked.get('path');
  const fits = (url: string) => {
    const { protocol, host, pathname } = new URL(url);
    if (`${protocol}//${host}` !== origin) return false;
    return path === undefined || `/${path}/`.startsWith(`${pathname.replace(/\/$/, '')}/`);
  };
  const known = [...Object.keys(logins), ...Object.keys(git)].filter((url) => URL.canParse(url) && fits(url));
  // Of two below one another, the inner one.
  return known.sort((a, b) => b.length - a.length)[0];
}

/** Git's user names are anybody's: `constructor` is none of ours. */
const ownValue = (tokens: Readonly<Record<string, string>> | undefined, username: string) =>
  tokens && Object.hasOwn(tokens, username) ? tokens[username] : undefined;

/** Git gets no admin token: it opens no repo. */
function answerOf({ logins, git }: Credentials, url: string, asked: Fields): string {
  const username = asked.get('username');
  const login = logins[url];
  const ofGit = username === undefined ? undefined : ownValue(git[url], username);
  const token = ofGit ?? (login && login.tenant !== null && !login.isRejected ? login.token : undefined);
  return token === undefined
    ? ''
    : `username=${username ?? login?.tenant ?? 'lfs-quota'}\npassword=${token}\n`;
}

/** A clone that was connected asks nobody else, even after a logout. */
async function sayLoggedOut(asked: Fields, context: CliContext): Promise<void> {
  const url = `${asked.get('protocol')}://${asked.get('host')}`;
  if (!(await isHelperOf(url, context))) return;
  context.err(asCalled(`lfs-quota: You're not logged in to ${url}. Run: lfs-quota login ${url}\n`, context));
}

const endedLine = (of: string, url: string, context: CliContext) =>
  asCalled(`lfs-quota: ${endedText(of)} Run: lfs-quota login ${url}\n`, context);

/** Git stores what worked, and erases what the server rejected. A login that was given here stays until then. */
async function keep(
  context: CliContext,
  { action, url, asked }: { action: 'store' | 'erase'; url: string; asked: Fields },
): Promise<void> {
  const [username = '', password = ''] = [asked.get('username'), asked.get('password')];
  if (username === '' || password === '') return;
  const all = readCredentials(context);
  const login = all.logins[url];
  const isOfGit = ownValue(all.git[url], username) === password;
  if (action === 'store') {
    if (isOfGit || (login?.token === password && !login.isRejected)) return;
    return changeCredentials(context, (now) =>
      login?.token === password
        ? withLogin(now, url, { token: password, tenant: login.tenant })
        : withGitToken(now, { url, username, token: password }),
    );
  }
  if (isOfGit) await changeCredentials(context, (now) => withGitToken(now, { url, username, token: null }));
  // It's kept, to say what became of it.
  if (login?.token === password)
    await changeCredentials(context, (now) =>
      now.logins[url]?.token === password ? withLogin(now, url, { ...login, isRejected: true }) : now,
    );
  else if (isOfGit && !login) context.err(endedLine(username, url, context));
}
