import type { Table } from '../../core/table/requests.ts';
import { createSecretsClient, createTextSecret } from '../../frame/aws/secrets.ts';
import * as stores from '../../lists/stores.ts';
import { clock } from '../../parts.ts';
import { signInHostsOf } from '../../subjects/hosts/rules/git-hosts.ts';
import { createSignInHosts } from '../../subjects/sign-in/sign-in-hosts.ts';
import { gitHosts } from '../hosts/parts.ts';

/** Those of the stage that users sign in with, each by its app's secret. */
function signInHosts() {
  const client = createSecretsClient();
  const secrets = new Map(
    signInHostsOf(gitHosts()).map(({ id, signIn: { clientSecretArn: secretArn } }) => [
      id,
      createTextSecret({ client, secretArn, nowMs: clock.nowMs }),
    ]),
  );
  const secretOf = ({ id }: { id: string }) =>
    secrets.get(id)?.() ?? Promise.reject(new Error(`${id} has no secret.`));
  return createSignInHosts({ nowMs: clock.nowMs, secretOf });
}

export const signInParts = (tables: Table) => ({ signInHosts: signInHosts(), users: stores.users(tables) });
