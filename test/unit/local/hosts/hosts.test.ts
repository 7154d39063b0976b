import { expect, it } from 'vitest';
import { hosts } from '../../../../local/hosts/hosts.ts';
import { readOutsiders } from '../../../../local/serve.ts';
import { StartupError } from '../../../../local/system/durable-file.ts';

const forge = 'forge,gitea,https://git.example.com';

type Row = [gitHost: readonly string[], why: RegExp];

it.each<Row>([
  ...[
    'forge',
    'forge,gitea',
    'Forge!,gitea,https://git.example.com',
    'forge,bitbucket,https://git.example.com',
    'forge,gitea,http://git.example.com',
    'forge,gitea,https://git.example.com/',
    'forge,gitea,https://git.example.com,more',
    'forge,gitea,https://git.example.com,,secret.txt',
    'forge,gitea,https://git.example.com,app,secret.txt,more',
  ].map((text): Row => [[text], /--git-host takes ID,KIND,URL/]),
  [[forge, forge], /--git-host names forge twice/],
  [Array.from({ length: 9 }, (_, index) => `${index}${forge}`), /8 times at most/],
])('does not start with %j, and says why', (gitHost, why) => {
  expect(() => hosts.options.gitHosts({ gitHost })).toThrow(StartupError);
  expect(() => hosts.options.gitHosts({ gitHost })).toThrow(why);
});

it('trusts the git hosts that it is given, and plain HTTP to those of this machine alone', () => {
  expect(readOutsiders({}).gitHosts).toEqual([]);
  const gitHost = [
    'github,github,https://api.github.com',
    'forge,gitea,http://127.0.0.1:3000,app,secret.txt',
  ];
  expect(hosts.options.gitHosts({ gitHost })).toEqual([
    { id: 'github', kind: 'github', url: 'https://api.github.com' },
    {
      id: 'forge',
      kind: 'gitea',
      url: 'http://127.0.0.1:3000',
      signIn: { clientId: 'app', clientSecretArn: 'secret.txt' },
    },
  ]);
  const eight = Array.from({ length: 8 }, (_, index) => `${index}${forge}`);
  expect(hosts.options.gitHosts({ gitHost: eight })).toHaveLength(8);
});
