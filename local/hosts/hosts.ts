import type { Clock } from '../../lambda/core/rules/clock-and-log.ts';
import { createHostClient } from '../../lambda/subjects/hosts/git-hosts.ts';
import { type GitHost, gitHostSchema, gitHostsMax } from '../../lambda/subjects/hosts/rules/git-hosts.ts';
import { KnownHostUsers } from '../../lambda/subjects/hosts/rules/host-client.ts';
import type { SubjectPorts } from '../subject-ports.ts';
import { StartupError } from '../system/durable-file.ts';

/** @throws {StartupError} */
function readGitHosts({ gitHost = [] }: { gitHost?: readonly string[] }): readonly GitHost[] {
  const hosts: GitHost[] = [];
  for (const text of gitHost) {
    const [id, kind, url, clientId, clientSecretArn, ...rest] = text.split(',');
    const signIn = clientId !== undefined && { signIn: { clientId, clientSecretArn } };
    const host = gitHostSchema.safeParse({ id, kind, url, ...signIn }).data;
    if (!host || clientId === '' || clientSecretArn === '' || rest.length > 0)
      throw new StartupError(
        '--git-host takes ID,KIND,URL such as gitea,gitea,https://gitea.example.com; http only for this machine. To let users sign in, add ,CLIENT_ID,SECRET_FILE.',
      );
    if (hosts.some((each) => each.id === host.id))
      throw new StartupError(`--git-host names ${host.id} twice.`);
    hosts.push(host);
  }
  if (hosts.length > gitHostsMax)
    throw new StartupError(`--git-host can be given ${gitHostsMax} times at most.`);
  return hosts;
}

interface Trusted {
  /** Whose people may use the repos that tenants link to them. Default: nobody's. */
  readonly gitHosts?: readonly GitHost[] | undefined;
  readonly clock: Clock;
  readonly adminSha256: string;
}

export const hosts = {
  create: ({ gitHosts = [], clock, adminSha256 }: Trusted) => ({
    gitHosts,
    hostClient: createHostClient(clock, { neverSha256: adminSha256 }),
    knownHostUsers: new KnownHostUsers(),
  }),
  options: { gitHosts: readGitHosts },
} as const satisfies SubjectPorts;
