import { randomUUID } from 'node:crypto';
import { userInfo } from 'node:os';
import { isTenantName, repoNamed } from '../../../lambda/core/rules/names.ts';
import { tokenScopes } from '../../../lambda/frame/access/rules/tokens.ts';
import type { ApiClient, BodyOf } from '../../api-client.ts';
import { least, tableOf, wraps } from '../../columns.ts';
import { actionCommand, type CliSubject, choice, flag, option, tenantOperand } from '../../command.ts';
import { logIn } from '../../commands/auth.ts';
import type { CliContext } from '../../context.ts';
import { CliError, later, UsageError } from '../../errors.ts';
import { eachRepo, managerToken, parseLifetime } from '../../options.ts';
import { formatUntil } from '../../render.ts';
import { clientFor, readBaseUrl } from '../../server.ts';
import { viewOf } from '../../terminal.ts';
import { warnIfAbsent } from '../../warn-if-absent.ts';
import { tokenByCode } from './device.ts';

/** `invite`: a link by which somebody gets a token. */
const inviteCommand = actionCommand({
  name: 'invite',
  description: 'Invite someone to a tenant by a one-time link',
  operands: { tenant: tenantOperand },
  options: {
    scope: choice(
      '--scope <scope>',
      'read: clone, pull; write: also push; manage: also tokens (default: write)',
      tokenScopes,
    ),
    repo: option('--repo <repo>', 'only for this repo; repeatable (default: all)', eachRepo),
    user: option('--user <name>', 'their name (default: they choose it)'),
    expires: option('--expires <time>', 'lifetime of their token, such as 30d (default: 90d)', parseLifetime),
    open: flag('--open', 'list the open invitations'),
    revoke: option('--revoke <id>', 'revoke an open invitation'),
  },
  wanted: managerToken,
  run: async (client, { operands: { tenant }, options, context }) => {
    const { scope, repo: repos, user, expires: expiresInSeconds, open, revoke, json } = options;
    const params = { tenant };
    if (revoke !== undefined) {
      if (!/^[0-9a-f]{16}$/.test(revoke))
        throw new UsageError(`Use the invitation's id. List them: lfs-quota invite ${tenant} --open`);
      await client.ask('revokeInvitation', { params: { tenant, invitationId: revoke } });
      return context.out(
        json ? `${JSON.stringify({ tenant, invitationId: revoke })}\n` : `Revoked ${revoke}.\n`,
      );
    }
    if (open) {
      const { body, text } = await client.ask('listInvitations', { params });
      if (json) return context.out(`${text}\n`);
      const { invitations } = body;
      const isNone = invitations.length === 0;
      return context.out(isNone ? 'No open invitations.\n' : invitationsTable(invitations, viewOf(context)));
    }
    const made = await client.ask('createInvitation', {
      params,
      body: { scope, repos, user, expiresInSeconds },
    });
    for (const repo of repos ?? []) await warnIfAbsent(client, context, { tenant, repo });
    context.out(json ? `${made.text}\n` : `${made.body.link}\n`);
    if (!json) context.err(linkText(made.body, context));
  },
});

function linkText(made: BodyOf<'createInvitation'>, context: CliContext): string {
  const { scope, repos, expiresAt } = made;
  const until = formatUntil(expiresAt, context.nowMs());
  const where = repos?.join(', ') ?? 'all repos';
  return `Send this link. It works once and expires ${until}. It gives ${scope} access to ${where}.\n`;
}

const invitationsTable = tableOf<BodyOf<'listInvitations'>['invitations'][number]>([
  ['id', ({ invitationId }) => invitationId],
  ['scope', ({ scope }) => scope],
  ['user', ({ user }) => user ?? '-', least(10)],
  ['repos', ({ repos }) => repos?.join(', ') ?? 'all', wraps],
  ['inviter', ({ inviter }) => inviter ?? '-'],
  ['expires', ({ expiresAt }, { nowMs }) => formatUntil(expiresAt, nowMs)],
]);

/** `login LINK`: accepts an invitation, and logs in. */
const logInByLink: NonNullable<CliSubject['invited']>['logIn'] = async (link, options, context) => {
  const { user = userInfo().username, git: forGit } = options;
  const { baseUrl, secret } = parseLink(link);
  const asking = { secret, user, context };
  const { tenant, token, repos } = await accept(clientFor(context, { baseUrl, token: '' }), asking);
  context.out(await logIn(context, { baseUrl, token, forGit }));
  // Whoever made the link may want something else pasted.
  const place = `${isTenantName(tenant) ? tenant : 'TENANT'} ${repoNamed(repos?.[0] ?? '') ?? 'REPO'}`;
  context.out(
    `\nNext:\n  git clone URL     # if your team uses it already\n  ${context.program} connect ${place}     # in a new repository\n`,
  );
};

const marker = '/#_join/';

function parseLink(link: string): { baseUrl: string; secret: string } {
  const [url = '', secret = ''] = link.trim().split(marker);
  if (!/^[\x21-\x7e]+$/.test(secret))
    throw new UsageError("That isn't a whole invitation link. Copy all of it, and put it in quotes.");
  return { baseUrl: readBaseUrl(url, 'https://lfs.example.com'), secret };
}

const attemptsMax = 3;
const pauseMs = 2000;

/** The same key gets the same token if an answer is lost. */
async function accept(
  client: ApiClient,
  { secret, user, context }: { secret: string; user: string; context: CliContext },
): Promise<BodyOf<'acceptInvitation'>> {
  const requestKey = randomUUID();
  for (let attempt = 1; ; attempt += 1) {
    try {
      return (await client.ask('acceptInvitation', { body: { secret, user }, requestKey })).body;
    } catch (error) {
      const isLost = error instanceof CliError && error.failure === 'unavailable';
      if (!isLost || attempt >= attemptsMax) throw error;
      await context.sleep(pauseMs);
    }
  }
}

export const invitations: CliSubject = {
  commands: { 320: inviteCommand },
  oldNames: { join: 'login' },
  invited: { isLink: (text) => text.includes(marker), logIn: logInByLink },
  examples: {
    login: [
      ["lfs-quota login 'https://lfs.example.com/#_join/acme.lfsi_…'", 'with the link of an invitation'],
    ],
    invite: [
      ['lfs-quota invite acme --repo game --user ada', 'to push to one repo'],
      ['lfs-quota invite acme --open'],
      ['lfs-quota invite acme --revoke 3d1c0e5f2a4b6978'],
    ],
  },
  hints: {
    'invitation-not-found': 'Admins list the open ones: lfs-quota invite TENANT --open',
    'invitations-full': 'Revoke one first: lfs-quota invite TENANT --revoke ID',
    'devices-full': later,
  },
  logIn: tokenByCode,
};
