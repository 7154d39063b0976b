import type { Page } from 'playwright-core';
import type { ConsoleFixture } from './fixture.ts';

/** A state of the console, and what is to be seen once it is reached. */
export interface State {
  readonly name: string;
  /** Whose token signs in. undefined: nobody does. */
  readonly token?: (fixture: ConsoleFixture) => string;
  /** Where it begins, after the slash. */
  readonly address?: string;
  /** Has the API answer otherwise, before the page asks. */
  readonly prepare?: (page: Page) => Promise<unknown>;
  /** What somebody does then. */
  readonly act?: (page: Page) => Promise<unknown>;
  /** Text that tells that the state is reached. */
  readonly shows: string;
}

const dayMs = 86_400_000;
/** A command line that waits, started elsewhere. */
const waitingDevice = {
  machine: 'ada on a laptop with a long name.local',
  tokenId: '5f0c1e2d3b4a5968',
  scope: 'write',
  repos: null,
  user: 'grace',
  expiresAt: '2027-02-19T05:00:00Z',
  address: '2001:db8:85a3:1234:5678:8a2e:370:7334',
};

type Json = Record<string, unknown>;
type Stored = { readonly storedBytes: number };

/** 400 days that end today, as the API answers them: growth with two gc runs. */
function historyAnswer(limitBytes: number | null, lastBytes: number): Json {
  const count = 400;
  const days = Array.from({ length: count }, (_, index) => {
    const share = index / (count - 1);
    const steps = Math.floor(share * 60) / 60;
    const dip = share > 0.38 && share < 0.75 ? 0.14 : share >= 0.75 ? 0.08 : 0;
    const storedBytes = Math.round(
      lastBytes * Math.min(1, 0.42 + 0.66 * steps - dip + (share === 1 ? 1 : 0)),
    );
    const day = new Date(Date.now() - (count - 1 - index) * dayMs).toISOString().slice(0, 10);
    return {
      day,
      storedBytes,
      objectCount: 16 + Math.round(share * 40),
      maxStoredBytes: storedBytes,
      maxUsedBytes: storedBytes + (index % 9 === 4 ? Math.round(lastBytes * 0.05) : 0),
      limitBytes:
        limitBytes === null ? null : Math.round(limitBytes * (index < 150 ? 0.5 : index < 300 ? 0.75 : 1)),
      refusals: index === 298 ? 5 : index === 396 ? 2 : 0,
      repoRefusals: index === 397 ? 1 : 0,
      downloads: null,
      carried: false,
    };
  });
  const isGrowing = limitBytes !== null && lastBytes < limitBytes;
  const fullOn = new Date(Date.now() + 70 * dayMs).toISOString().slice(0, 10);
  const forecast = isGrowing
    ? { fullOn, reason: null, bytesPerDay: Math.round((limitBytes - lastBytes) / 70) }
    : { fullOn: null, reason: 'not-growing', bytesPerDay: 0 };
  return {
    tenant: 'northlight',
    limitBytes,
    from: days[0]?.day,
    to: days.at(-1)?.day,
    days,
    forecast,
    lastRefusals: [],
  };
}

/** Answers with what the API does, changed. */
async function changed(
  page: Page,
  url: string | RegExp,
  change: (body: Json) => Json,
  status?: number,
): Promise<void> {
  await page.route(url, async (route) => {
    if (route.request().method() !== 'GET') return route.continue();
    const { 'if-none-match': _known, ...headers } = route.request().headers();
    const response = await route.fetch({ headers });
    const body = change((await response.json()) as Json);
    await route.fulfill({ status: status ?? response.status(), contentType: 'application/json', json: body });
  });
}

const subscription = '**/subscription*';

const shares = [
  ['atlas-world', 700_000],
  ['cinematics', 310_000],
  ['ui-kit', 24_000],
] as const;

/** Nothing was pulled in the tests. */
const withDownloads = (page: Page) =>
  changed(page, '**/downloads*', (body) => ({
    ...body,
    month: { ...(body['month'] as Json), bytes: 11_000_000, limitBytes: 25_000_000 },
    downloads: Array.from({ length: 30 }, (_, index) => {
      const day = new Date(Date.now() - (29 - index) * dayMs).toISOString().slice(0, 10);
      const busy = index % 7 > 4 ? 0.05 : 0.4 + ((index * 37) % 60) / 100;
      return shares.map(([repo, bytes]) => ({
        day,
        repo,
        tokenId: repo === 'ui-kit' ? 'public' : '0f1e2d3c4b5a6978',
        bytes: Math.round(bytes * busy),
        objects: 3,
      }));
    }).flat(),
  }));

/** Uploads under way, more than are shown. */
const withReservations = async (page: Page) => {
  await withHistory(page);
  const inMinutes = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString();
  const reservations = Array.from({ length: 11 }, (_, index) => ({
    id: `0b5f1c2d3e4a596877665544332211${10 + index}`,
    repo: shares[index % 3]?.[0],
    state: index === 1 ? 'late' : index === 2 ? 'pending' : 'issued',
    objectCount: 40 - index,
    bytes: 90_000 - 7_000 * index,
    arrived: index === 0,
    createdAt: inMinutes(-1),
    expiresAt: inMinutes(29),
    reservedUntil: inMinutes(35),
  }));
  await page.route('**/reservations*', (route) =>
    route.fulfill({ json: { reservations, nextCursor: null } }),
  );
  await changed(page, subscription, (body) => {
    const usage = body['usage'] as { storedBytes: number };
    return { ...body, usage: { ...usage, reservedBytes: 90_000, reservedUntil: inMinutes(35) } };
  });
};

/** Objects that go soon, more than are shown, and one that goes now. */
const withMarked = (page: Page) =>
  page.route('**/deletions*', (route) =>
    route.fulfill({
      json: {
        deletions: Array.from({ length: 11 }, (_, index) => ({
          repo: shares[index % 3]?.[0],
          oid: String(index + 10).repeat(32),
          sizeBytes: 90_000 - 7_000 * index,
          state: index === 1 ? 'deleting' : 'marked',
          dueAt: new Date(Date.now() + (7 * index - 7) * 60_000).toISOString(),
        })),
        nextCursor: null,
      },
    }),
  );

/** A repo's objects by path: long ones, some in use, some going. */
const withNames = (page: Page) =>
  page.route('**/names*', (route) => {
    const states = ['stored', 'stored', 'scheduled', 'deleting', 'gone'];
    const names = Array.from({ length: 20 }, (_, index) => ({
      oid: String(index + 10).repeat(32),
      sizeBytes: 90_000_000 - 4_000_000 * index,
      path:
        index % 5 === 4
          ? null
          : `Content/Cinematics/Act ${index}/${'Intro_master_'.repeat(index % 7)}v${index}.mov`,
      inUseBy: index % 2 ? 'release/2026.11' : null,
      commit: null,
      committedAt: index % 5 === 4 ? null : new Date(Date.now() - index * dayMs).toISOString(),
      state: states[index % 5],
      ...(index % 5 === 2 && { dueAt: new Date(Date.now() + 41 * 60_000).toISOString() }),
    }));
    const sum = { objectCount: 318, bytes: 214_000_000_000 };
    const madeAt = new Date(Date.now() - 2 * dayMs).toISOString();
    const commit = '91c0e2f4b8d7a6c5e4f3021b9a8d7c6e5f403122';
    return route.fulfill({ json: { names, sum, madeAt, branch: 'main', commit, nextCursor: 'c00' } });
  });

/** A push was rejected just now. */
const withRejected = async (page: Page) => {
  await withHistory(page);
  await changed(page, subscription, (body) => ({
    ...body,
    lastRefusals: [
      {
        at: new Date().toISOString(),
        repo: 'cinematics',
        user: 'mira',
        files: 46,
        atLeast: false,
        bytes: 800_000,
        shortBytes: 377_000,
        limit: 'tenant',
      },
    ],
  }));
};

/** What the largest repos stored in each of 57 weeks. */
const withWeeks = async (page: Page) => {
  await withHistory(page);
  await changed(page, /\/repos\/[^/?]+$/, (body) => ({
    ...body,
    weeks: Array.from({ length: 57 }, (_, week) =>
      Math.round(((body['storedBytes'] as number) * (20 + week)) / 76),
    ),
  }));
};

/** So many times of what was stored some days ago, by repo. */
const growths = [1, 1.13, 0.96, 1.42, 1, undefined, 1.06, 0.81, 1.3] as const;
const withGrowth = (page: Page) =>
  changed(page, subscription, (body) => ({
    ...body,
    // As the history has it.
    forecast: historyAnswer(body['limitBytes'] as number | null, (body['usage'] as Stored).storedBytes)[
      'forecast'
    ],
    usage: { ...(body['usage'] as Json), olderThanYear: { bytes: 700_000, at: '2026-11-21T05:00:00Z' } },
    repos: (body['repos'] as { repo: string; storedBytes: number }[]).map((each, index) => {
      const growth = growths[index];
      const day = new Date(Date.now() - (index === 3 ? 9 : 30) * dayMs).toISOString().slice(0, 10);
      return {
        ...each,
        ...(growth !== undefined && { before: { day, storedBytes: Math.round(each.storedBytes / growth) } }),
      };
    }),
  }));

/** The API knows of today alone. */
const withHistory = async (page: Page) => {
  await withDownloads(page);
  await withGrowth(page);
  await changed(page, '**/history*', (body) => {
    const days = body['days'] as { storedBytes: number }[];
    return historyAnswer(body['limitBytes'] as number | null, days.at(-1)?.storedBytes ?? 2_000_000);
  });
};

/** As the demo's first day: the days before are sample data. */
const withSample = async (page: Page) => {
  await changed(page, '**/history*', (body) => {
    const { days } = historyAnswer(body['limitBytes'] as number | null, 700 * 1024 ** 2) as { days: Json[] };
    const sample = days.slice(0, -1).map((day) => ({ ...day, sample: true, refusals: 0, repoRefusals: 0 }));
    return { ...body, days: [...sample, ...(body['days'] as Json[])] };
  });
};

/** Addresses of e-mail alerts, of each kind. */
const withEmails = (page: Page) =>
  page.route('**/emails', (route) => {
    const at = new Date(Date.now() - 5 * dayMs).toISOString();
    const of = (address: string, confirmedAt: string | null, ended: string | null) => ({
      address,
      addedAt: at,
      confirmedAt,
      ended,
    });
    const long = `${'a-rather-long-name.'.repeat(3)}b@mail.example.com`;
    return route.fulfill({
      json: {
        emails: [of(long, at, null), of('bob@example.com', null, null), of('c@x.example', at, 'bounced')],
      },
    });
  });

const withLimit = (timesStored: number | null) => async (page: Page) => {
  let limitBytes: number | null = null;
  await changed(page, subscription, (body) => {
    const usage = body['usage'] as { storedBytes: number; reservedBytes: number };
    limitBytes = timesStored === null ? null : Math.round(usage.storedBytes * timesStored);
    const forecast =
      timesStored === null ? { fullOn: null, reason: 'unlimited', bytesPerDay: null } : body['forecast'];
    const near = timesStored !== null && timesStored > 1;
    return {
      ...body,
      limitBytes,
      forecast: near ? { fullOn: '2027-02-03', reason: null, bytesPerDay: 9000 } : forecast,
      usage: { ...usage, reservedBytes: 0, reservedUntil: null },
    };
  });
  await changed(page, '**/history*', () => historyAnswer(limitBytes, 1_990_000));
};

/** A large repo is being counted. */
const withCount = (page: Page) =>
  page.route('**/scans', (route) =>
    route.fulfill({
      json: {
        scans: [
          {
            repo: 'atlas-world',
            kind: 'requested',
            state: 'running',
            progress: {
              share: 0.437,
              objectCount: 1_204_500,
              listRequests: 1300,
              objectsPerSecond: 40_000,
              secondsLeft: 40,
              beganAt: '2026-11-21T05:00:00Z',
              updatedAt: '2026-11-21T05:00:30Z',
            },
          },
        ],
        nextCursor: null,
      },
    }),
  );

/** A count that ends in the second before somebody asks for one is the one that he gets. */
const withOldScan = (page: Page) =>
  changed(page, subscription, (body) => ({
    ...body,
    usage: { ...(body['usage'] as Json), scannedAt: new Date(Date.now() - 300_000).toISOString() },
  }));

/** One of each kind that the operator may have to look at. */
const withTenants = (page: Page) =>
  changed(page, '**/v1/tenants?*', (body) => {
    const tenants = body['tenants'] as Json[];
    const [like] = tenants.filter(({ tenant }) => tenant === 'northlight');
    const usage = like?.['usage'] as Json;
    const of = (tenant: string, share: number, more: Json = {}): Json => ({
      ...like,
      tenant,
      limitBytes: 20 * 1024 ** 3,
      usage: { ...usage, storedBytes: Math.round(share * 20 * 1024 ** 3), reservedBytes: 0 },
      ...more,
    });
    const longAgo = new Date(Date.now() - 40 * dayMs).toISOString();
    return {
      ...body,
      tenants: [
        ...tenants,
        of('fieldnotes', 1.045),
        of('acme-games', 0.96),
        of('bluebird', 0.24, { deleting: true }),
        of('kestrel-vr', 0.612, { usage: { ...usage, storedBytes: 1.3e10, scannedAt: longAgo } }),
        of('quarry', 0, { usage: null }),
      ],
    };
  });

/** Dead letters, a queue that cannot be asked, a store that is down, and reconciles and an export that failed. */
const withTrouble = (page: Page) =>
  changed(page, '**/v1/status', (body) => {
    const trouble: Readonly<Record<string, Json>> = {
      store: {
        state: 'act',
        says: 'The object store (lfs-objects at https://account.r2.cloudflarestorage.com) does not serve requests: no answer within 8 s.',
        todo: "Until it works, pushes and pulls fail and nothing is counted. Check that it's up, and test its credentials with lfs-quota doctor.",
      },
      reconciles: {
        state: 'act',
        says: 'Reconciles: 12 waiting, 2 in progress, 3 dead letters.',
        todo: 'They are in https://sqs.eu-central-1.amazonaws.com/111122223333/lfs-quota-prod-ReconcileQueueDeadLetterQueue1A2B3C4D.fifo. See why in the log of the function reconcile, and mend it.',
      },
      webhooks: {
        state: 'unknown',
        says: 'Webhooks: the queue could not be looked at: no answer within 8 s.',
        todo: 'See whether SQS answers.',
      },
      failures: {
        state: 'act',
        says: 'Failed, and not made up for: 2 reconciles and 1 export.',
        todo: "The store didn't respond. It's retried until it does.",
      },
    };
    const failedAt = new Date(Date.now() - 7 * 60_000).toISOString();
    const failed = { kind: 'reconcile', failedAt, since: failedAt, tries: 4, why: 'store', over: false };
    return {
      ...body,
      state: 'act',
      parts: (body['parts'] as { part: string }[]).map((each) => ({ ...each, ...trouble[each.part] })),
      failures: [
        { ...failed, tenant: 'northlight' },
        { ...failed, tenant: 'a-tenant-with-a-name-as-long-as-it-may-be' },
        { ...failed, tenant: 'demo', kind: 'export', exportId: 'e', tries: 1, why: 'export' },
        { ...failed, tenant: 'observatory', over: true },
      ],
    };
  });

/** 40 weeks of a repo, with deletes. */
const withRepoWeeks = (page: Page) =>
  changed(page, '**/repos/atlas-world', (body) => ({
    ...body,
    limitBytes: 900_000,
    weeks: Array.from({ length: 57 }, (_, week) =>
      week < 17 ? null : 300_000 + 13_000 * (week - (week % 9)),
    ),
  }));

const withLocks = (page: Page) =>
  page.route('**/locks?*', (route) =>
    route.fulfill({
      json: {
        locks: Array.from({ length: 20 }, (_, index) => ({
          id: `id-${index}`,
          path: `art/file-${index}.psd`,
          owner: 'bob',
          ownerName: 'bob',
          lockedAt: '2026-11-21T05:00:00Z',
        })),
        nextCursor: 'c1',
      },
    }),
  );

const withFiles = async (page: Page) => {
  await changed(page, '**/repos/atlas-world', (body) => ({ ...body, kind: 'files' }));
  await changed(page, subscription, (body) => ({
    ...body,
    repos: (body['repos'] as { repo: string }[]).map((each) =>
      each.repo === 'atlas-world' ? { ...each, kind: 'files' } : each,
    ),
  }));
  await page.route('**/repos/atlas-world/files?*', (route) =>
    route.fulfill({
      json:
        route.request().method() === 'DELETE'
          ? { fileCount: 1, bytes: 12_345, nextCursor: null }
          : {
              files: Array.from({ length: 20 }, (_, index) => ({
                name: `${index === 3 ? 'a-name-of-a-folder-that-is-as-long-as-somebody-chose-it/' : ''}art/${index}.png`,
                bytes: 12_345 * 7 ** index,
                storedAt: '2026-11-21T05:00:00Z',
              })),
              nextCursor: 'c1',
            },
    }),
  );
};

const byReader = (fixture: ConsoleFixture) => fixture.usual.readToken;
const byManager = (fixture: ConsoleFixture) => fixture.usual.manageToken;
const never = () => new Promise<never>(() => {});

export const states: readonly State[] = [
  { name: 'signed-out', shows: 'Access token' },
  {
    name: 'loading',
    token: byReader,
    prepare: (page) => page.route(subscription, never),
    shows: 'Loading',
  },
  {
    name: 'never-counted',
    token: byReader,
    prepare: (page) =>
      changed(
        page,
        subscription,
        (body) => ({
          ...body,
          usage: null,
          repos: [],
          refreshing: true,
          forecast: { fullOn: null, reason: 'not-scanned', bytesPerDay: null },
        }),
        202,
      ),
    shows: 'Calculating usage…',
  },
  { name: 'empty', token: ({ empty }) => empty.writeToken, shows: 'Waiting for the first push' },
  {
    name: 'sample-history',
    token: ({ empty }) => empty.writeToken,
    prepare: withSample,
    shows: 'Sample data until',
  },
  { name: 'usual', token: byManager, prepare: withHistory, shows: 'Even share' },
  { name: 'rejected', token: byManager, prepare: withRejected, shows: 'push again when' },
  {
    name: 'by-repo',
    token: byManager,
    prepare: withWeeks,
    act: (page) => page.getByText('By repo', { exact: true }).click(),
    shows: 'other repos',
  },
  {
    name: 'counting',
    token: byManager,
    prepare: async (page) => {
      await withHistory(page);
      await withOldScan(page);
      await page.route('**/subscription?refresh=true', never);
      await withCount(page);
    },
    act: (page) => page.getByRole('button', { name: 'Scan now' }).click(),
    shows: 'so far',
  },
  { name: 'near', token: byManager, prepare: withLimit(1.06), shows: 'At this pace' },
  { name: 'over', token: byManager, prepare: withLimit(0.92), shows: 'Uploads are rejected' },
  {
    name: 'suspended',
    token: byManager,
    prepare: (page) =>
      changed(page, subscription, (body) => ({
        ...body,
        suspended: 'pushes',
        suspendedMessage: 'Your invoice is overdue: https://billing.example.com/pay/now/and/push/again',
      })),
    shows: 'Uploads are suspended',
  },
  { name: 'unlimited', token: byReader, prepare: withLimit(null), shows: 'without a limit' },
  {
    name: 'unreachable',
    token: byReader,
    prepare: withHistory,
    act: async (page) => {
      await page.getByText('from the bucket').waitFor();
      await page.route(subscription, (route) => route.abort());
      // As if the page had been hidden for some time.
      await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
    },
    shows: "Can't reach the server",
  },
  {
    name: 'reserved',
    token: byManager,
    prepare: withReservations,
    act: (page) => page.getByText('10 uploads in progress').click(),
    shows: 'Reserved until they finish',
  },
  {
    name: 'deleting-an-object',
    token: byManager,
    address: '#northlight/objects',
    prepare: withHistory,
    act: async (page) => {
      await page
        .getByRole('checkbox', { name: /^Choose/ })
        .first()
        .check();
      await page.getByRole('button', { name: 'Delete…' }).click();
    },
    shows: 'To keep an object, push it again before.',
  },
  {
    name: 'marked-objects',
    token: byReader,
    address: '#northlight/objects',
    prepare: async (page) => {
      await withHistory(page);
      await withMarked(page);
    },
    act: (page) => page.getByText('Deleting', { exact: true }).click(),
    shows: 'deleted in 7 min',
  },
  {
    name: 'paths-deleting-in-use',
    token: byManager,
    address: '#northlight/repos/atlas-world/paths',
    prepare: withNames,
    act: async (page) => {
      const boxes = page.getByRole('checkbox', { name: /^Choose/ });
      await boxes.nth(0).check();
      await boxes.nth(1).check();
      await page.getByRole('button', { name: 'Delete…' }).click();
    },
    shows: '1 object in use, such as by release/2026.11',
  },
  {
    name: 'paths',
    token: byManager,
    address: '#northlight/repos/atlas-world/paths',
    prepare: withNames,
    shows: 'in no commit',
  },
  {
    name: 'no-paths',
    token: byReader,
    address: '#northlight/repos/fonts/paths',
    shows: 'lfs-quota repo names northlight fonts',
  },
  {
    name: 'downloads-by-token',
    token: byManager,
    prepare: withHistory,
    act: async (page) => {
      await page.getByRole('heading', { name: 'Downloads' }).waitFor();
      await page.getByText('Show as table').nth(1).click();
      await page.getByText('By token').click();
    },
    shows: 'Most by token',
  },
  {
    name: 'many-repos',
    token: byReader,
    address: '#northlight/repos',
    prepare: async (page) => {
      await withHistory(page);
      const repos = Array.from({ length: 500 }, (_, index) => ({
        repo: `repo-${String(index).padStart(3, '0')}`,
        limitBytes: index % 7 === 0 ? 50_000 : null,
        storedBytes: Math.round(9_000 / (index + 1)),
        objectCount: 500 - index,
        scannedAt: new Date(Date.now() - index * 60_000).toISOString(),
      }));
      await page.route('**/repos?*', (route) => route.fulfill({ json: { repos, nextCursor: null } }));
      await changed(page, subscription, (body) => ({ ...body, repos }));
    },
    shows: 'repo-009',
  },
  {
    name: 'operator',
    token: ({ api }) => api.target.adminToken,
    prepare: withTenants,
    shows: 'Scan overdue 1',
  },
  {
    name: 'never-scanned-large-repo',
    token: byReader,
    prepare: async (page) => {
      await changed(
        page,
        subscription,
        (body) => ({ ...body, usage: null, repos: [], refreshing: true }),
        202,
      );
      await withCount(page);
    },
    shows: '1,204,500 objects scanned so far',
  },
  { name: 'tenants', token: ({ api }) => api.target.adminToken, shows: 'All systems normal' },
  {
    name: 'status',
    token: ({ api }) => api.target.adminToken,
    address: '#_status',
    shows: 'Nothing failed.',
  },
  {
    name: 'status-acts',
    token: ({ api }) => api.target.adminToken,
    address: '#_status',
    prepare: withTrouble,
    shows: 'Needs attention',
  },
  { name: 'repos', token: byReader, address: '#northlight/repos', prepare: withHistory, shows: 'fonts' },
  {
    name: 'repo',
    token: byReader,
    address: '#northlight/repos/atlas-world',
    prepare: withRepoWeeks,
    shows: 'Storage by week',
  },
  {
    name: 'repo-share',
    token: byReader,
    address: '#northlight/repos/cinematics',
    shows: 'of what northlight stores',
  },
  {
    name: 'repo-settings',
    token: byManager,
    address: '#northlight/repos/atlas-world/settings',
    act: (page) => page.getByRole('button', { name: 'Delete atlas-world…' }).click(),
    shows: 'Type atlas-world',
  },
  {
    name: 'locks',
    token: byManager,
    address: '#northlight/repos/atlas-world/locks',
    prepare: withLocks,
    act: (page) => page.getByRole('button', { name: 'Release art/file-1.psd' }).click(),
    shows: "isn't notified",
  },
  {
    name: 'files',
    token: byReader,
    address: '#northlight/repos/atlas-world/files',
    prepare: withFiles,
    shows: 'art/19.png',
  },
  {
    name: 'deleting-a-file',
    token: byManager,
    address: '#northlight/repos/atlas-world/files',
    prepare: withFiles,
    act: (page) => page.getByRole('button', { name: 'Delete art/1.png' }).click(),
    shows: "can't undo this",
  },
  {
    name: 'repo-of-files-settings',
    token: byManager,
    address: '#northlight/repos/atlas-world/settings',
    prepare: withFiles,
    shows: 'Delete this repo',
  },
  {
    name: 'activity',
    token: byManager,
    address: '#northlight/activity',
    prepare: withRejected,
    shows: "couldn't push to",
  },
  { name: 'join', address: '#_join/northlight.lfsi_invitation', shows: 'The link works once' },
  { name: 'device', token: byManager, address: '#_device', shows: 'Continue' },
  {
    name: 'device-of-a-link',
    token: byManager,
    address: '#_device/BCDF-GHJK',
    prepare: (page) => page.route('**/device?dryRun=true', (route) => route.fulfill({ json: waitingDevice })),
    shows: 'Anyone who sent you this link gets this access.',
  },
  {
    name: 'session-ended',
    prepare: (page) =>
      page.route('**/v1/session', (route) =>
        route.fulfill({ status: 401, json: { code: 'session-ended', detail: 'It ended.' } }),
      ),
    shows: "You're signed out",
  },
  { name: 'access', token: byManager, address: '#northlight/access', shows: 'administrator' },
  {
    name: 'settings',
    token: ({ api }) => api.target.adminToken,
    address: '#northlight/settings',
    prepare: withEmails,
    shows: 'bob@example.com',
  },
  {
    name: 'operator-acts',
    token: ({ api }) => api.target.adminToken,
    prepare: withTrouble,
    shows: 'Needs attention',
  },
  {
    name: 'operator-without-status',
    token: ({ api }) => api.target.adminToken,
    prepare: (page) => page.route('**/v1/status', (route) => route.fulfill({ status: 503, json: {} })),
    shows: "Can't read the status",
  },
];
