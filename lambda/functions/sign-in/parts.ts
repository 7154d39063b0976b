import { SecretError } from '../../core/rules/errors.ts';
import type { Table } from '../../core/table/requests.ts';
import { createSecret, createSecretsClient } from '../../frame/aws/secrets.ts';
import { clock } from '../../parts.ts';
import { signInHostsOf } from '../../subjects/hosts/rules/git-hosts.ts';
import { hostSignInOperations } from '../../subjects/sign-in/routes.ts';
import { createSignInHosts } from '../../subjects/sign-in/sign-in-hosts.ts';
import { createDynamoDbUsers } from '../../subjects/sign-in/user-store.ts';
import { gitHosts, linkedHosts } from '../hosts/parts.ts';

function secretOfApp(text: string | undefined): string {
  if (text === undefined) throw new SecretError("The secret of a git host's app has no value.");
  return text.trim();
}

/** Those of the stage that users sign in with, each by its app's secret. */
function signInHosts() {
  const client = createSecretsClient();
  const secrets = new Map(
    signInHostsOf(gitHosts()).map(({ id, signIn: { clientSecretArn: secretArn } }) => [
      id,
      createSecret({ client, secretArn, nowMs: clock.nowMs }, secretOfApp),
    ]),
  );
  const secretOf = ({ id }: { id: string }) =>
    secrets.get(id)?.() ?? Promise.reject(new Error(`${id} has no secret.`));
  return createSignInHosts({ nowMs: clock.nowMs, secretOf });
}

export const signingIn = {
  operations: hostSignInOperations,
  parts: (tables: Table) => ({
    ...linkedHosts(tables),
    signInHosts: signInHosts(),
    users: createDynamoDbUsers(tables),
  }),
};
