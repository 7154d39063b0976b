import type { ApiClient } from '../../api-client.ts';
import { machineName, sessionRequest } from '../../commands/auth.ts';
import type { CliContext } from '../../context.ts';
import { CliError } from '../../errors.ts';
import { clientFor } from '../../server.ts';

/** Waits until an admin has approved a code. @returns undefined: the server has no such codes. */
export async function tokenByCode(baseUrl: string, context: CliContext): Promise<string | undefined> {
  const body = { machine: machineName() };
  const started = await clientFor(context, { baseUrl, token: '' }).find('startDevice', { body });
  if (!started) return undefined;
  const { userCode, token, expiresAt, intervalSeconds } = started;
  context.err(
    `Open this link where you're signed in, or ask a tenant admin to:\n  ${baseUrl}/#_device/${userCode}\n\n`,
  );
  context.err(`Waiting. If you have a token, press Ctrl-C and add --with-token.\n`);
  const client = clientFor(context, { baseUrl, token });
  while (context.nowMs() < Date.parse(expiresAt)) {
    await context.sleep(intervalSeconds * 1000);
    if (await isApproved(client)) return token;
  }
  throw new CliError('The code expired.', { hint: `Start again: lfs-quota login ${baseUrl}` });
}

/** A server that is busy for a moment doesn't end the login. */
async function isApproved(client: ApiClient): Promise<boolean> {
  const answer = await client.exchange(sessionRequest).catch(() => undefined);
  return answer?.status === 200;
}
