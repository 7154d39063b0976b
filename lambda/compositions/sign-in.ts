import { createSecretsClient, createTextSecret } from '../frame/aws/secrets.ts';
import * as stores from '../stores.ts';
import { signInHostsOf } from '../subjects/hosts/rules/git-hosts.ts';
import { createSignInHosts } from '../subjects/sign-in/sign-in-hosts.ts';
import { clock, common, gitHosts, publicUrl, table } from './parts.ts';

export function signInDeps() {
  const tables = table();
  const client = createSecretsClient();
  const secrets = new Map(
    signInHostsOf(gitHosts()).map(({ id, signIn: { clientSecretArn: secretArn } }) => [
      id,
      createTextSecret({ client, secretArn, nowMs: clock.nowMs }),
    ]),
  );
  const secretOf = ({ id }: { id: string }) =>
    secrets.get(id)?.() ?? Promise.reject(new Error(`${id} has no secret.`));
  return {
    ...common(),
    publicUrl: publicUrl(),
    gitHosts: gitHosts(),
    signInHosts: createSignInHosts({ nowMs: clock.nowMs, secretOf }),
    users: stores.users(tables),
    tokens: stores.tokens(tables),
    // It knows no operator: nobody's session of theirs counts here.
    admin: { sha256s: async () => [] },
    ledger: stores.ledger(tables),
    linkedRepos: stores.linkedRepos(tables),
    tenantLinks: stores.tenantLinks(tables),
    invitations: stores.invitations(tables),
    devices: stores.devices(tables),
    requestKeys: stores.requestKeys(tables),
    audit: stores.audit(tables),
  };
}
