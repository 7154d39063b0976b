import { expect } from 'vitest';
import { sha256Hex } from '../../../../lambda/core/rules/hash.ts';
import { stored } from '../../../../lambda/core/table/stored-names.ts';
import { createDynamoDbKeptGrants } from '../../../../lambda/subjects/hosts/grant-store.ts';
import { createDynamoDbLinkedRepos } from '../../../../lambda/subjects/hosts/linked-repo-store.ts';
import {
  gitHostsFromJson,
  gitHostsMax,
  linkedReposMax,
  pinnedReposMax,
} from '../../../../lambda/subjects/hosts/rules/git-hosts.ts';
import { listOf } from '../../longest.ts';
import { minute, path, repo, type TestedSubject, tenant } from '../../subject.ts';

export const hosts = {
  fill: {
    keptGrants: ({ keptGrants }, nowMs) =>
      keptGrants.keep({
        key: tenant,
        grant: { hostUser: { id: 'github:1', login: 'ada' }, access: 'read' },
        untilMs: nowMs + minute,
      }),
    linkedRepos: ({ linkedRepos }, sinceMs) =>
      linkedRepos.put({ tenant, mark: { repo, host: 'github', name: 'a/b', linkedId: '7', sinceMs } }),
    tenantLinks: async ({ tenantLinks }, sinceMs) => {
      await tenantLinks.change(tenant, () => ({
        host: 'github',
        organization: 'a',
        organizationId: '1',
        publicRead: null,
        sinceMs,
        pinnedCount: 1,
      }));
      await tenantLinks.changePin(path, () => ({
        linkedId: '7',
        linkSinceMs: sinceMs,
        isPublic: false,
        saidMs: sinceMs,
        askAgainMs: sinceMs,
        sinceMs,
      }));
    },
  },
  limits: {
    'A tenant': {
      'Repos linked to git hosts': linkedReposMax,
      'Repos used by a link of the tenant': pinnedReposMax,
    },
    'A deployment': { 'Git hosts': gitHostsMax },
  },
  kept: [
    {
      what: 'what a host said of somebody, once it counts no more',
      by: ['lambda/subjects/hosts/grant-store.ts keep'],
      async write({ table, atMs, second }) {
        const grant = { hostUser: { id: 'github:1', login: 'ada' }, access: 'read' } as const;
        await createDynamoDbKeptGrants(table).keep({ key: 'k', grant, untilMs: atMs });
        return [{ pk: 'GRANT#k', sk: 'GRANT', end: second }];
      },
    },
    {
      what: 'what a repo was linked to, a day after that has ended',
      by: ['lambda/frame/access/repo-mark-store.ts end'],
      async write({ table, client, tenant, atMs, second, day }) {
        const links = createDynamoDbLinkedRepos(table);
        const mapped = { host: 'github', name: 'acme/app', linkedId: null, sinceMs: 1 };
        await links.put({ tenant, mark: { repo: 'app', ...mapped } });
        client.on('GetItem').resolves({ Item: stored({ repo: 'app', version: 1, mapped }) });
        await links.end({ tenant, repo: 'app', atMs });
        const place = { pk: 'MAPPED#acme', sk: 'REPO#app' };
        return [
          { ...place, end: null },
          { ...place, end: second + day },
        ];
      },
    },
  ],
  settings: {
    most: {
      gitHosts: listOf(8, (index) => ({
        id: `${'g'.repeat(18)}${index}`,
        kind: 'gitlab' as const,
        url: `https://${'g'.repeat(63)}.example.com/${'p'.repeat(114)}${index}`,
        signIn: {
          clientId: 'c'.repeat(200),
          clientSecretArn: `arn:aws-us-gov:secretsmanager:us-gov-west-1:111122223333:secret:${'s'.repeat(512)}-AbCd${index}`,
        },
      })),
    },
    ofGitLab: { gitHosts: [{ id: 'gitlab', kind: 'gitlab', url: 'https://gitlab.example.com' }] },
  },
  code: {
    gitHosts: {
      set: [{ id: 'github', kind: 'github', url: 'https://api.github.com' }],
      read: gitHostsFromJson,
      functions: ['signIn', 'management', 'lfsBatch', 'lfsLocks'],
    },
  },
  older: {
    read: async ({ keptGrants, linkedRepos }) => {
      expect(await keptGrants.find(sha256Hex('ada'))).toMatchObject({ grant: { access: 'write' } });
      expect(await linkedRepos.find({ tenant: 'acme', repo: 'game' })).toMatchObject({ host: 'github' });
    },
  },
} satisfies TestedSubject;
