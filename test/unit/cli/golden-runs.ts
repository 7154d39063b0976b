import { examples } from '../../../cli/program.ts';
import { dayAfter } from '../../../lambda/core/rules/dates.ts';
import type { CliRun, TestedSubject } from '../../support/subject.ts';
import * as subjects from '../../support/subjects.ts';

export type Run = CliRun;
type Change = NonNullable<Run['answers']>[number];

/** Commands that ask more than the API: a store, a clone, a shell. */
const elsewhere = /^(connect|du|doctor|completion|export local|files (put|get)|repo names .*--clone)/;
/** Of an example, what would go on until something changes, and files. */
const endless = / --(watch|wait|output \S+)/g;
const asks = /^(tenant|repo|object|lock|files) delete |^(tenant|repo) (download-)?limit |^repo public /;

/** The examples of the help, without what they would ask a person. */
const exampleRuns = Object.entries(examples)
  .filter(([words]) => !elsewhere.test(words))
  .flatMap(([, lines]) => lines.map(([line]) => line))
  .map((line) => (/^lfs-quota ([^|]*[^| ])/.exec(line)?.[1] ?? '').replaceAll(endless, ''))
  .map((line) => (asks.test(line) && !/--(yes|dry-run)/.test(line) ? `${line} --yes` : line));

const run = (line: string, ...answers: Change[]): Run => ({ line, answers });
const says = (line: string, answer: string, ...answers: Change[]): Run => ({
  line,
  answers,
  says: [answer],
});
/** Without a terminal, and at one where these are said. */
const asked = (line: string, all: readonly string[], ...answers: Change[]): Run[] => [
  run(line, ...answers),
  ...all.map((answer) => says(line, answer, ...answers)),
];
const unknownPlan = { objectCount: null, bytes: null };
const mib = 1024 ** 2;
const oid = (digit: string) => digit.repeat(64);
const days = '--from 2026-11-01 --to 2026-11-30';

const usage = {
  storedBytes: 50 * mib,
  objectCount: 1,
  reservedBytes: 25 * mib,
  reservedUntil: '2026-11-21T05:36:00Z',
  committedBytes: 75 * mib,
  scannedAt: '2026-11-21T04:59:48Z',
  source: 'cache',
};
const idle = { ...usage, reservedBytes: 0, reservedUntil: null, scannedAt: '2026-11-21T04:50:00Z' };
const tenant = (name: string, limitBytes: number | null, storedBytes?: number) => ({
  tenant: name,
  plan: null,
  limitBytes,
  downloadLimitBytes: null,
  reposMustExist: false,
  createdAt: '2026-11-20T05:00:00Z',
  usage: storedBytes === undefined ? null : { ...idle, storedBytes },
});
const repo = (name: string, more: object = {}) => ({
  repo: name,
  limitBytes: null,
  storedBytes: 2048,
  objectCount: 2,
  scannedAt: '2026-11-21T04:59:48Z',
  ...more,
});
const notScanned = { storedBytes: null, objectCount: null, scannedAt: null };
const publicRead = {
  monthlyLimitBytes: 100 * 1024 ** 3,
  since: '2026-11-21T04:00:00Z',
  month: { month: '2026-11', bytes: 1536, objects: 1, resetsAt: '2026-12-01T00:00:00Z' },
};
const gitHost = { host: 'github', repo: 'acme/game', repoId: '77', since: '2026-11-21T04:00:00Z' };
const token = {
  tokenId: 'k1',
  scope: 'write',
  label: 'a\u001b[2J\n',
  user: null,
  repos: null,
  createdAt: '2026-11-21T04:00:00Z',
  expiresAt: null,
  lastUsedAt: null,
};
const object = (digit: string, sizeBytes: number, storedAt: string | null) => ({
  repo: digit === 'a' ? 'art' : 'game',
  oid: oid(digit),
  sizeBytes,
  storedAt,
});
const entry = {
  time: '2026-11-21T05:00:00.123Z',
  requestId: 'r1',
  by: { kind: 'operator', tokenId: null, name: null },
  action: 'tenant.update',
  target: {},
  asked: { limitBytes: 20, plan: 'team' },
  outcome: 'succeeded',
  reason: null,
  before: { limitBytes: 10, plan: null },
  after: { limitBytes: 20, plan: 'team' },
};
const download = (day: string, repoName: string, tokenId: string, bytes: number) => ({
  day,
  repo: repoName,
  tokenId,
  bytes,
  objects: tokenId === 'k3' ? 0 : 1,
});
const day = (name: string, storedBytes: number, more: object = {}) => ({
  day: name,
  storedBytes,
  objectCount: 3,
  maxStoredBytes: storedBytes,
  maxUsedBytes: storedBytes,
  limitBytes: null,
  refusals: 0,
  repoRefusals: 0,
  downloads: { bytes: 0, objects: 0 },
  carried: false,
  ...more,
});
const tenantLink = {
  tenant: 'acme',
  host: 'github',
  organization: 'acme-org',
  publicRead: null,
  since: '2026-11-20T08:00:00Z',
};
const refused = {
  at: '2026-11-21T05:00:00Z',
  repo: 'game',
  user: 'ada',
  files: 2,
  atLeast: false,
  bytes: 52_000_000_000,
  shortBytes: 1_200_000,
  limit: 'tenant',
};
const daysOf = (...values: readonly number[]) =>
  values.map((bytes, index) => day(dayAfter('2026-11-21', index + 1 - values.length), bytes));
const last = {
  eventId: 'acme:7',
  type: 'storage.threshold',
  at: '2026-11-21T04:59:48Z',
  attempt: 2,
  outcome: 'delivered',
  status: 204,
  failure: null,
  nextAt: null,
};
const reservation = {
  id: '0'.repeat(32),
  repo: 'game',
  state: 'issued',
  objectCount: 2,
  bytes: 9 * mib,
  arrived: false,
  madeBy: 'github:1234',
  createdAt: '2026-11-21T04:58:00Z',
  expiresAt: '2026-11-21T05:29:00Z',
  reservedUntil: '2026-11-21T05:34:11Z',
};
const lock = {
  id: '0'.repeat(52),
  path: 'art/hero.psd',
  owner: 'ada',
  ownerName: 'a\u001b[31mda',
  lockedAt: '2026-11-21T04:58:00Z',
};
const failure = {
  kind: 'reconcile',
  tenant: 'acme',
  failedAt: '2026-11-21T04:58:00Z',
  since: '2026-11-21T04:00:00Z',
  tries: 1204,
  why: 'unexpected',
  over: false,
};
const sum = (objectCount: number) => ({ objectCount, bytes: objectCount * 1024 });
const found = {
  stored: sum(3),
  kept: sum(1),
  inUse: sum(0),
  young: sum(0),
  candidates: sum(2),
  isMoreThanHalf: false,
  largest: [],
  lists: [],
};
const gc = {
  state: 'watching',
  openedAt: '2026-11-20T05:00:00Z',
  endedAt: null,
  snapshotFrom: '2026-11-21T05:00:00Z',
  watchEndsAt: '2026-11-27T05:00:00Z',
  mayRun: true,
  run: {
    requestedAt: '2026-11-21T05:00:00Z',
    dryRun: true,
    force: false,
    minAgeDays: 7,
    reachableSetObjects: 1,
  },
  found,
  deleted: sum(0),
  failure: null,
};
const gcStatus = (more: object) => run('gc status acme game', { ...gc, ...more });

const tenantRuns: readonly Run[] = [
  run('tenant create acme --limit unlimited', { limitBytes: null, plan: null, usage: null }),
  run('tenant create acme --limit 1GiB --plan pro --json'),
  run(
    'tenant list --page-size 1',
    { tenants: [tenant('acme', 1000, 500), tenant('over', 1000, 1200)], nextCursor: 'cYWNtZQ' },
    { tenants: [tenant('free', null), tenant('none', 0, 0)], nextCursor: null },
  ),
  run('tenant list', { tenants: [] }),
  run(
    'tenant list --json',
    { tenants: [tenant('a', null)], nextCursor: 'c1', extra: [1] },
    { tenants: [], nextCursor: 'c2', extra: [2], more: 'x' },
    { tenants: [tenant('b', null)], nextCursor: null, extra: [3], more: 'y' },
  ),
  run('tenant list --json', { tenants: [] }),
  ...['--limit 3', '--limit 1 --cursor c2', '--limit 5000 --page-size 5'].map((options) =>
    run(
      `tenant list --json ${options}`,
      { tenants: [tenant('a', null), tenant('b', null)], nextCursor: 'c1' },
      { tenants: [tenant('c', null)], nextCursor: 'c3' },
      { tenants: [], nextCursor: null },
    ),
  ),
  run('tenant show acme', { ...tenant('acme', null), deleting: true }),
  run('tenant limit acme 500MB --yes'),
  run('tenant limit acme 0 --yes'),
  run('tenant limit acme 5Q'),
  run('tenant limit acme -1'),
  run('tenant limit acme 99999999PiB'),
  run('tenant download-limit acme 1TiB --yes', { downloadLimitBytes: 1024 ** 4 }),
  run('tenant new-repos acme created', { reposMustExist: true }),
  run('tenant new-repos acme never'),
  run('tenant storage-class acme STANDARD_IA', { ...tenant('acme', null), storageClass: 'STANDARD_IA' }),
  run('tenant storage-class acme GLACIER'),
  run('tenant suspend acme pushes --message Overdue', {
    ...tenant('acme', null),
    suspended: 'pushes',
    suspendedMessage: 'Overdue',
  }),
  run('tenant suspend acme'),
  run('tenant suspend acme downloads'),
  run('tenant resume acme', tenant('acme', null)),
  run('repo storage-class acme game none', repo('game', { storageClass: 'STANDARD' })),
  ...(
    [
      ['link acme github acme-org', tenantLink],
      [
        'link acme github acme-org --public 5GiB',
        { ...tenantLink, publicRead: { monthlyLimitBytes: 5 * 1024 ** 3 } },
      ],
      [
        'link acme github acme-org --public unlimited',
        { ...tenantLink, publicRead: { monthlyLimitBytes: null } },
      ],
      ['show-link acme', tenantLink],
    ] as const
  ).map(([words, change]) => run(`tenant ${words}`, change)),
  run('tenant link acme github'),
  run('tenant unlink acme'),
  ...asked('tenant limit acme 2MiB', ['n', 'y'], { usage: { ...idle, storedBytes: 5 * mib } }),
  ...asked('tenant download-limit acme 2MiB', ['n', 'y'], { month: { ...publicRead.month, bytes: 3 * mib } }),
  ...['unlimited', '6MiB'].map((size) =>
    run(`tenant limit acme ${size}`, { usage: { ...idle, storedBytes: 5 * mib } }),
  ),
  ...['create acme --limit 2', 'limit acme 2', 'download-limit acme 2'].map((words) =>
    run(`tenant ${words}`),
  ),
  ...asked('tenant delete acme', [' acme', 'y', '']),
  says('tenant delete acme', 'acme', { problem: 'tenant-not-found' }),
  run('tenant delete acme --dry-run --yes', unknownPlan),
  run('tenant create ..'),
  run('tenant create acme extra'),
  run('tenant crate'),
  run('tenant list --page-size 0'),
  run('tenant list --limit 9999999999999999'),
];

const repoRuns: readonly Run[] = [
  run('repo create acme game --limit 4KiB', repo('game', { limitBytes: 4096 })),
  run('repo create acme media --kind files', repo('media', { kind: 'files' })),
  run('repo create acme media --kind files', { problem: 'store-cannot' }),
  run('repo create acme media --kind git'),
  run('repo list acme', { repos: [repo('game'), repo('media', { kind: 'files', storedBytes: 1024 })] }),
  run('repo list acme', {
    repos: [
      repo('old', { ...notScanned, deleting: true }),
      repo('', { storedBytes: 1024 }),
      repo('new', { ...notScanned, uploading: true }),
      repo('game'),
    ],
  }),
  run('repo list acme', { repos: [repo('art', { limitBytes: 4096 }), repo('game', { storedBytes: 1 })] }),
  run('repo list acme', {
    repos: [
      repo('game', { publicRead, gitHost }),
      repo('film'),
      repo('art', { publicRead: { ...publicRead, monthlyLimitBytes: null } }),
    ],
  }),
  run('repo list acme', { repos: [] }),
  run('repo limit acme game 1GB --yes'),
  run('repo public acme game --limit 100GiB --yes', repo('game', { publicRead })),
  run(
    'repo public acme game --limit unlimited',
    repo('game', { publicRead: { ...publicRead, monthlyLimitBytes: null } }),
  ),
  run('repo public acme game'),
  run('repo private acme game', { publicRead: undefined }),
  run('repo link acme game github acme/game --repo-id 77', { gitHost }),
  run('repo link acme game github acme/game', { gitHost: { ...gitHost, repoId: null } }),
  run('repo link acme game github acme/game --read-through', { gitHost: { ...gitHost, readThrough: true } }),
  run('repo link acme game github'),
  run('repo unlink acme game', { gitHost: undefined }),
  ...asked('repo limit acme game 1MiB', ['n', 'y'], { storedBytes: 4 * mib }),
  ...asked('repo public acme game --limit 1MiB', ['n', 'y'], {
    publicRead: { ...publicRead, month: { ...publicRead.month, bytes: 3 * mib } },
  }),
  ...['limit acme game 1', 'public acme game --limit 1'].map((words) => run(`repo ${words}`)),
  ...asked('repo delete acme game', [' y', 'n']),
  says('repo delete acme game', 'y', { problem: 'repo-not-found' }),
  run('repo delete acme game --dry-run --yes', unknownPlan),
  run('repo delete acme .. --yes'),
];

const tokenRuns: readonly Run[] = [
  run('token create acme --scope write --label ci', {
    label: 'ci',
    user: null,
    repos: null,
    expiresAt: null,
  }),
  run('token create acme --scope write --user ada --repo game --repo film.git --expires 90d', {
    user: 'ada',
    repos: ['game', 'film'],
    expiresAt: '2027-02-19T05:00:00Z',
  }),
  ...['90', '1w', '-1d', '1.5h', '""'].map((time) => run(`token create acme --scope read --expires ${time}`)),
  ...['Game', 'movie'].map((name) =>
    run(
      `token create acme --scope write --repo ${name}`,
      { repos: [name] },
      { problem: 'repo-not-found' },
      { repos: [repo('game')] },
    ),
  ),
  run('token create acme --scope admin'),
  run('token create acme'),
  run('token list acme', {
    tokens: [
      { ...token, user: 'ada', repos: ['game', 'film'], lastUsedAt: '2026-11-21T04:00:00Z' },
      { ...token, tokenId: 'k2', expiresAt: '2026-11-21T04:59:00Z' },
    ],
  }),
  run('token list acme', { tokens: [] }),
  run('token show acme k1', token),
  run('token revoke acme lfsq_secret'),
  run('token revoke acme ../x'),
  run('token revoke acme a --json'),
];

const invitation = {
  invitationId: '3d1c0e5f2a4b6978',
  scope: 'write',
  repos: null,
  user: null,
  inviter: null,
  expiresInSeconds: 7_776_000,
  createdAt: '2026-11-21T05:00:00Z',
  expiresAt: '2026-11-28T05:00:00Z',
};
const inviteRuns: readonly Run[] = [
  run('invite acme --scope read --expires 30d'),
  run(
    'invite acme --repo Game --repo film',
    {},
    { problem: 'repo-not-found' },
    { repos: [repo('game')] },
    {},
  ),
  run('invite acme', { problem: 'invitations-full' }),
  run('invite acme --open', {
    invitations: [
      invitation,
      { ...invitation, user: 'a\u001b[2J', repos: ['game', 'film'], inviter: 'grace' },
    ],
  }),
  run('invite acme --open', { invitations: [] }),
  run('invite acme --open --json'),
  run('invite acme --revoke ../x'),
  run('invite acme --revoke 3d1c0e5f2a4b6978', { problem: 'invitation-not-found' }),
  run('invite acme --revoke 3d1c0e5f2a4b6978 --json'),
];

/** What people mistype, mistake for another thing, or forget: each tells what to do. */
const mistakeRuns: readonly Run[] = [
  ...['usgae acme', 'usage acme --wathc', 'logn', 'tokens', 'frobnicate'].map((line) => run(line)),
  run('login'),
  run('login lfs.example.com'),
  run('login ftp://lfs.example.com'),
  run('login https://lfs.example.com/'),
  run('login https://lfs.example.com/#_join/'),
  run('logout'),
  run('logout https://lfs.example.com'),
  run('usage'),
  run('usage acme game'),
  run('usage ACME'),
  run('files list acme game'),
  run('files list acme game more'),
  run('lock list'),
  run('repo show acme'),
  run('repo delete'),
  run('repo limit acme game'),
  run('tenant list acme'),
  run('repo show acme gmae', { problem: 'repo-not-found' }),
  run('usage nope', { problem: 'tenant-not-found' }),
  run('usage acme', { problem: 'unauthorized' }),
  run('token list acme', { problem: 'scope-too-small' }),
  run('files list --tenant acme', { problem: 'repo-required' }),
  run('check --health', { problem: 'unauthorized' }),
  run(`token revoke acme lfsq_${'0'.repeat(40)}`),
  run(`token show acme lfsq_${'0'.repeat(40)}`),
  run('token revoke acme k1', { problem: 'token-not-found' }),
  run('alert add acme http://hooks.example.com'),
  run('tenant create acme', { problem: 'tenant-exists' }),
];

const match = '--match repository_id=7 --match ref=refs/heads/main --match ref=refs/tags/*';
const ruleRuns: readonly Run[] = [
  run(`rule create acme --issuer https://gitlab.com ${match} --scope write --repo game --expires 30m`),
  run(
    `rule create acme --issuer https://gitlab.com ${match} --scope write --repo Game`,
    { warning: 'has a ref that any pull request could match' },
    { problem: 'repo-not-found' },
    { repos: [repo('game')] },
  ),
  run('rule create acme --issuer https://a --match ref --scope read'),
  run('rule create acme --issuer https://a --scope read'),
  run('rule list acme', { rules: [] }),
  run('rule delete acme ../x'),
  run('rule delete acme 9c1f0a7be2d34856 --json'),
];

const organization = {
  host: 'github',
  organizationId: '9919',
  name: 'acme-games',
  owners: 'manage',
  members: null,
  collaborators: true,
  since: '2026-11-21T05:00:00Z',
};
const userRuns: readonly Run[] = [
  run('user list acme', { organizations: [], users: [], yours: [] }),
  run('user list acme', {
    organizations: [organization],
    users: [
      {
        userId: '5f0c1e2d3b4a5968',
        hostUser: 'github:1234',
        user: 'ada',
        scope: 'read',
        repos: ['game'],
        writeRepos: ['game'],
        role: 'collaborator',
        organizationId: '9919',
        signedInAt: '2026-11-21T05:00:00Z',
        expiresAt: '2026-11-21T13:00:00Z',
        lastUsedAt: null,
      },
    ],
    yours: [],
  }),
  run('user allow acme github 9919 --members none --collaborators'),
  run('user allow acme github 9919', { problem: 'organization-not-yours' }),
  run('user allow acme github acme-games'),
  run('user remove acme github 9919'),
  run('user end acme ../x'),
  run('user end acme 5f0c1e2d3b4a5968'),
];

const byteHour = (hour: string, byteSeconds: string) => ({
  id: `acme:${hour}Z`,
  tenant: 'acme',
  hour: `${hour}:00:00Z`,
  byteSeconds,
});
const downloads = {
  month: {
    month: '2026-11',
    bytes: 3 * mib,
    objects: 3,
    limitBytes: 1024 ** 3,
    resetsAt: '2026-12-01T00:00:00Z',
  },
  downloads: [
    download('2026-11-20', 'game', 'k1', mib),
    download('2026-11-21', 'film', 'k2', mib),
    download('2026-11-21', 'game', 'k1', mib),
    // Somebody asked for what is not stored.
    download('2026-11-21', 'any', 'k3', 0),
    download('2026-11-21', 'docs', 'k1', 0),
  ],
};
const wrongDays = (command: string) => run(`${command} acme --from 2026-11-21 --to 2026-11-20`);

const countedWrong = [
  repo('art', { storedBytes: 2 * mib }),
  repo('game', { storedBytes: 5, objectCount: 1 }),
  repo('gone', { storedBytes: 5, objectCount: 1 }),
  repo('new', notScanned),
];
const stored = {
  objects: [object('a', 2 * mib, null), object('b', 5, null)],
  others: [
    { repo: 'art', objectCount: 2, sizeBytes: 512 },
    { repo: '', objectCount: 1, sizeBytes: 3 },
  ],
};

const pagesOf = (line: string, ...pages: readonly object[]) =>
  run(
    line,
    ...pages.map((page, index) => ({ ...page, nextCursor: index < pages.length - 1 ? 'c00' : null })),
  );

const ofLists = {
  check: [
    run('check --health', {
      state: 'fine',
      parts: [{ part: 'store', state: 'fine', says: 'All is well.', todo: null }],
    }),
    run('check --health', {
      state: 'act',
      parts: [
        { part: 'store', state: 'unknown', says: 'Nobody knows.', todo: 'Look.' },
        { part: 'failures', state: 'act', says: 'Failed: 1 reconcile.', todo: 'Read the log.' },
      ],
      failures: [failure, { ...failure, kind: 'export', tenant: 'lab', tries: 1, why: 'export', over: true }],
    }),
    run('check --health --json', { parts: [{ part: 'store', state: 'act', says: 'No.', todo: 'Look.' }] }),
  ],
  audit: [
    run(`audit acme ${days} --action token.create`, {
      entries: [
        entry,
        {
          ...entry,
          by: { kind: 'token', tokenId: '5f0c1e2d3b4a5968', name: 'ada' },
          action: 'token.revoke',
          target: { tokenId: '0000000000000000' },
          outcome: 'denied',
          reason: 'token-not-found',
          asked: {},
          before: null,
          after: null,
        },
        {
          ...entry,
          by: { kind: 'token', tokenId: '5f0c1e2d3b4a5968', name: null },
          before: { publicRead: null },
          after: { publicRead: { monthlyLimitBytes: 5 } },
        },
        {
          ...entry,
          by: { kind: 'identity', tokenId: null, name: 'repo:acme/game' },
          before: null,
          after: null,
        },
        { ...entry, before: { label: 'x'.repeat(150) }, after: null },
      ],
    }),
    run('audit acme --action locks.release', {
      entries: [
        {
          ...entry,
          action: 'locks.release',
          target: { repo: 'game' },
          asked: { path: 'art/hero.psd' },
          before: { paths: ['art/hero.psd'] },
          after: { releasedCount: 1, hasMore: false },
        },
        {
          ...entry,
          action: 'invitation.revoke',
          target: { invitationId: '4cc2b930d1e5f6a7' },
          asked: {},
          before: { user: 'bob', scope: 'write' },
          after: null,
        },
      ],
    }),
    run('audit acme', { entries: [] }),
    run('audit acme --action token.steal'),
    wrongDays('audit'),
  ],
  downloads: [
    run('downloads acme --from 2026-11-20', downloads),
    run('downloads acme --by repo', downloads),
    run('downloads acme --by token', downloads),
    run('downloads acme', {
      month: { ...downloads.month, bytes: 0, limitBytes: null },
      downloads: [],
    }),
    run('downloads acme --from 2026-02-30'),
    run('downloads acme --repo game --page-size 5'),
    run('downloads acme --by hour'),
    wrongDays('downloads'),
  ],
  files: [
    pagesOf(
      'files list --tenant acme --repo game.git --page-size 1',
      { objects: [object('a', 5, null)] },
      { objects: [object('b', 1023 * 1024 ** 3, null)] },
    ),
    run('files list --tenant acme', { objects: [] }),
    run(`files delete --tenant acme --repo game ${oid('a')} ${oid('b')} ${oid('a')} --yes`, {
      bytes: 512,
      objectCount: 1,
      dueAt: '2026-11-21T06:00:00Z',
    }),
    run(`files delete --tenant acme --repo game ${oid('a')} --yes`, {
      dueAt: '2026-11-21T06:40:00Z',
      waitsFor: 'uploads',
    }),
    ...asked(`files delete --tenant acme --repo game ${oid('a')}`, ['YES', '']),
    says(
      `files delete --tenant acme --repo game ${oid('a')} ${oid('b')}`,
      'y',
      {},
      { problem: 'object-not-found' },
    ),
    run(`files delete --tenant acme --repo game ${oid('a')} --dry-run --yes`, unknownPlan),
    run('files delete --tenant acme --repo game --yes'),
    run(`files delete --tenant acme --repo game ${oid('a')} ABC --yes`),
    pagesOf(
      'files deletions --tenant acme',
      {},
      { deletions: [{ ...object('a', 9 * mib, null), state: 'deleting', dueAt: '' }] },
    ),
    run('files deletions --tenant acme --repo game.git', { deletions: [] }),
  ],
  usage: [
    run('usage acme --refresh', {
      limitBytes: 100 * mib,
      usage,
      repos: [repo('site', { storedBytes: 0, objectCount: 0 }), repo('game')],
      reposTruncated: true,
      refreshing: true,
    }),
    { line: 'usage acme', answers: [{ limitBytes: 60 * mib, usage, repos: [] }], lang: 'C' },
    run('usage acme', { plan: null, limitBytes: null, usage: { ...usage, reservedUntil: null } }),
    run('usage acme', { usage: null, repos: [], refreshing: true }),
    run('usage acme', { usage: { ...usage, reservedUntil: '2026-11-21T05:00:00Z' }, repos: [] }),
    run('usage acme', { usage: idle, refreshing: false, repos: [] }),
    ...[
      { usage: { ...idle, scannedAt: '2026-11-21T04:58:01Z' } },
      { usage: { ...idle, reservedBytes: 1 } },
      { usage: idle, refreshing: true },
      { usage: idle, repos: [repo('game', { deleting: true })] },
      { usage: idle, deleting: true },
    ].map((change) => run('usage acme', { refreshing: false, repos: [], ...change })),
    // The bar shows the smallest amount, and is full only when nothing is free.
    ...[
      [0, 0, 1000],
      [1, 0, 1000],
      [0, 1, 1000],
      [500, 1, 1000],
      [999, 0, 1000],
      [1000, 0, 1000],
      [990, 10, 1000],
      [5000, 5000, 1000],
      [0, 0, 0],
    ].map(([storedBytes, reservedBytes, limitBytes]): Run => {
      const figures = { ...usage, storedBytes, reservedBytes };
      return { line: 'usage acme', answers: [{ limitBytes, usage: figures, repos: [] }], lang: 'C' };
    }),
    run('usage a/b'),
    run('usage acme --nope'),
    run('usage'),
  ],
  history: [
    run('history acme', {
      limitBytes: 100 * mib,
      days: [
        day('2026-11-20', 20 * mib, { maxStoredBytes: 60 * mib, refusals: 1, downloads: null }),
        day('2026-11-21', 40 * mib, { downloads: { bytes: 3 * mib, objects: 2 } }),
      ],
    }),
    { line: 'history acme', answers: [{ days: [day('2026-11-21', 0), day('2026-11-22', 1)] }], lang: 'C' },
    ...[
      { limitBytes: 161, days: daysOf(40, 80) },
      { limitBytes: 160, days: daysOf(40, 80) },
      { limitBytes: 100, days: daysOf(40, 200) },
      { limitBytes: null, days: daysOf(0, 1, 8000) },
      { limitBytes: null, days: daysOf(0, 0) },
      { limitBytes: null, days: daysOf(...Array.from({ length: 30 }, () => 5)) },
      // More days than columns: each column has the highest of its days.
      { limitBytes: null, days: daysOf(...Array.from({ length: 400 }, (_, at) => (at === 300 ? 100 : 1))) },
    ].map((change) => run('history acme', { lastRefusals: [], ...change })),
    ...(
      [
        ['2026-11-21', null, null],
        ['2026-11-21', null, -5],
        [null, 'unlimited', 5],
        [null, 'not-scanned', null],
        [null, 'too-few-days', null],
        [null, 'not-growing', -5],
        [null, 'beyond-two-years', 1024],
        [null, null, null],
      ] as const
    ).map(([fullOn, reason, bytesPerDay]) =>
      run('history acme', { days: daysOf(1), forecast: { fullOn, reason, bytesPerDay }, lastRefusals: [] }),
    ),
    run('history acme --table', {
      days: [day('2026-11-20', mib, { downloads: null }), day('2026-11-21', 5)],
    }),
    ...['history acme', 'history acme --table'].map((line) =>
      run(line, { days: [day('2026-11-20', 100 * mib, { sample: true }), day('2026-11-21', 5)] }),
    ),
    run('history acme --to 2026-11-20', { days: [day('2026-11-20', 100 * mib, { sample: true })] }),
    run('history acme --table', {
      days: [day('2026-11-21', 5)],
      lastRefusals: [{ ...refused, files: 100, atLeast: true }],
    }),
    run('history acme --days 2 --to 2026-10-01', { days: [] }),
    run('history acme --from 2026-10-01 --days 2', { days: [] }),
    run(`history acme ${days}`, { days: [] }),
    run(`history acme ${days} --days 2`),
    run('history acme --days 401'),
    run('history acme --days 1.5'),
    wrongDays('history'),
  ],
  'byte-hours': [
    pagesOf(
      'byte-hours list --from 2026-11-20T05Z --to 2026-11-20T07Z',
      { usage: [byteHour('2026-11-20T05', '3600'), byteHour('2026-11-20T06', '3599')] },
      { usage: [{ ...byteHour('2026-11-18T23', '-7200'), id: 'acme:2026-11-18T23Z:c1', reason: 'Outage' }] },
    ),
    run('byte-hours list', { usage: [] }),
    run('byte-hours list --from yesterday'),
    run('byte-hours correct acme 2026-11-18T23Z --by=-7200 --reason Outage'),
    run('byte-hours correct acme 2026-11-18T23:00:00Z --by 5 --reason More --number 2', {
      problem: 'correction-exists',
    }),
    run('byte-hours correct acme 2026-11-18T23Z --by 1.5 --reason Outage'),
  ],
  alert: [
    run('alert add acme ada@example.com', { confirmedAt: '2026-11-21T05:00:00Z' }),
    run('alert add acme ada@example.com', { problem: 'emails-off' }),
    run('alert list acme', { emails: [] }),
    run('alert list acme', {
      emails: [
        { address: 'ada@example.com', addedAt: '2026-11-21T05:00:00Z', confirmedAt: null, ended: null },
        { address: 'bob@example.com', addedAt: '2026-11-21T05:00:00Z', confirmedAt: null, ended: 'bounced' },
      ],
    }),
    run('alert add acme https://hooks.example.com/a', { secret: 'whsec_abc' }),
    run('alert add acme https://hooks.example.com/a --new-secret', { secret: null, last: null }),
    ...[
      {},
      { outcome: 'failed', status: 500, failure: 'status', nextAt: '2026-11-21T05:30:00Z' },
      { outcome: 'given-up', status: null, failure: 'address-not-public' },
    ].map((change) => run('alert list acme', { last: { ...last, ...change } })),
  ],
  lock: [
    pagesOf(
      'lock list acme game.git',
      { locks: [lock] },
      { locks: [{ ...lock, path: 'a\nb', owner: 'k1', ownerName: 'build' }] },
    ),
    run("lock list acme game --owner 'a&b c'", { locks: [] }),
    run("lock delete acme game --path 'a b.psd' --yes", { releasedCount: 1 }),
    run('lock delete acme a/b --all --yes'),
    ...asked('lock delete acme game --owner ada', [' y', 'n'], {
      locks: [lock, { ...lock, path: 'a.psd' }],
      releasedCount: 2,
    }),
    says('lock delete acme game --path a.psd', 'y', { locks: [] }),
    ...['', ' --json'].map((option) =>
      run(
        `lock delete acme game --all --yes${option}`,
        { releasedCount: 1000, hasMore: true },
        { releasedCount: 204, hasMore: false },
      ),
    ),
    ...['', ' --all --owner ada'].map((which) => run(`lock delete acme game${which} --yes`)),
  ],
  scan: [
    pagesOf(
      'scan now acme --dry-run',
      { repos: countedWrong.slice(0, 2) },
      { repos: countedWrong, ...stored },
    ),
    run('scan now acme --dry-run', {
      repos: [repo('art', { storedBytes: 5, objectCount: 1 })],
      objects: [object('a', 5, null)],
      others: [],
    }),
    run('scan now acme --dry-run --json', { repos: countedWrong.slice(2), ...stored }),
    pagesOf(
      'scan uploads acme',
      {
        reservations: [
          { ...reservation, state: 'unconfirmed', objectCount: 1204, expiresAt: '2026-11-21T03:26:00Z' },
          reservation,
        ],
      },
      { reservations: [{ ...reservation, madeBy: null, arrived: true }] },
    ),
    run('scan uploads acme --repo game.git --page-size 1', { reservations: [] }),
    run('scan uploads acme --repo a/b'),
    run('scan cancel-uploads acme --all --yes', { cancelledCount: 0 }),
    run('scan cancel-uploads acme --repo game --id x --yes --json'),
    ...asked(
      'scan cancel-uploads acme --made-by github:7',
      ['y', 'n'],
      { cancelledCount: 1000, bytes: mib, hasMore: true },
      { cancelledCount: 1, bytes: mib, hasMore: false },
    ),
    ...['', ' --all --id x'].map((which) => run(`scan cancel-uploads acme${which} --yes`)),
    run('scan list acme', { scans: [] }),
    run('scan cancel acme footage', { state: 'paused', progress: null }),
  ],
  gc: [
    run('gc acme game --cancel', { state: 'cancelled', endedAt: '2026-11-21T05:00:00Z' }),
    run('gc open acme game'),
    run('gc cancel acme game --json'),
    gcStatus({ mayRun: false, snapshotFrom: '2026-11-21T06:00:00Z', run: null, found: null }),
    gcStatus({ run: null, found: null }),
    gcStatus({ found: { ...found, isMoreThanHalf: true } }),
    gcStatus({
      found: { ...found, candidates: sum(0), reserved: { ...sum(6), until: '2026-11-21T05:40:00Z' } },
    }),
    gcStatus({ found: { ...found, candidates: sum(0) } }),
    gcStatus({
      state: 'done',
      found: { ...found, reserved: { ...sum(6), until: '2026-11-21T05:40:00Z' } },
    }),
    gcStatus({ failure: { reason: 'too-much', message: 'More than half.' } }),
    gcStatus({
      run: { ...gc.run, dryRun: false },
      deleted: sum(1),
      failure: { reason: 'no-candidates', message: 'Run it again.' },
    }),
    gcStatus({ state: 'deleting' }),
  ],
} satisfies Record<string, readonly Run[]>;

const more: Readonly<Record<string, readonly Run[]>> = {
  tenant: tenantRuns,
  repo: repoRuns,
  whoami: [
    run('whoami', {
      kind: 'operator',
      tenant: null,
      tokenId: null,
      scope: null,
      label: null,
      expiresAt: null,
    }),
    run('whoami', { user: 'a\u001b[2J', repos: ['game'], expiresAt: null }),
    run('whoami --json'),
    run('whoami', { problem: 'unauthorized' }),
  ],
  invite: inviteRuns,
  mistakes: mistakeRuns,
  token: tokenRuns,
  rule: ruleRuns,
  user: userRuns,
  ...ofLists,
  help: [run('--help')],
};

/** Part of a list. */
const partRuns = [
  ...['tenant list', 'audit acme', 'lock list acme game', 'scan uploads acme'],
  ...['files list --tenant acme', 'files deletions --tenant acme'],
  ...['token', 'repo', 'scan', 'export'].map((of) => `${of} list acme`),
].map((line) => `${line} --limit 5 --cursor c00`);

const ofSubjects = Object.values<TestedSubject>(subjects).map(({ runs = {} }) => runs);

/** By their first word: the examples of the help, and what else a command can be given and answered. */
export const goldenRuns: Readonly<Record<string, readonly Run[]>> = Object.fromEntries(
  [...new Set([more, ...ofSubjects].flatMap((runs) => Object.keys(runs)))].map((command) => {
    const runs = [more, ...ofSubjects].flatMap((each) => each[command] ?? []);
    const simple = [...exampleRuns, ...partRuns].filter((line) => line.split(' ')[0] === command);
    return [command, [...simple.map((line) => run(line)), ...runs]];
  }),
);
