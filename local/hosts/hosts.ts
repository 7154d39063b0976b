import type { Clock } from '../../lambda/core/rules/clock-and-log.ts';
import { gitHostIdPattern } from '../../lambda/frame/access/rules/host-user.ts';
import { createHostClient } from '../../lambda/subjects/hosts/git-hosts.ts';
import {
  type GitHost,
  gitHostKinds,
  gitHostsMax,
  isGitHostUrl,
} from '../../lambda/subjects/hosts/rules/git-hosts.ts';
import { KnownHostUsers } from '../../lambda/subjects/hosts/rules/host-client.ts';
import type { SubjectPorts } from '../subject-ports.ts';
import { StartupError } from '../system/durable-file.ts';

/** @throws {StartupError} */
function readGitHosts({ gitHost = [] }: { gitHost?: readonly string[] }): readonly GitHost[] {
  const hosts: GitHost[] = [];
  for (const text of gitHost) {
    const [id = '', name, url = '', clientId, clientSecretArn, ...rest] = text.split(',');
    const kind = gitHostKinds.find((each) => each === name);
    const isHost =
      gitHostIdPattern.test(id) && isGitHostUrl(url, { allowsLoopback: true }) && rest.length === 0;
    const isApp = clientId === undefined || (clientId !== '' && clientSecretArn);
    if (!kind || !isHost || !isApp)
      throw new StartupError(
        '--git-host takes ID,KIND,URL such as gitea,gitea,https://gitea.example.com; http only for this machine. To let users sign in, add ,CLIENT_ID,SECRET_FILE.',
      );
    if (hosts.some((host) => host.id === id)) throw new StartupError(`--git-host names ${id} twice.`);
    hosts.push({
      id,
      kind,
      url,
      ...(clientId && clientSecretArn && { signIn: { clientId, clientSecretArn } }),
    });
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
