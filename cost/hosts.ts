import { defaultWorkload, monthOf, pricesAsOf, type StoreName, sumOf, totalOf } from './operations.ts';

/** What a team's Git LFS costs a month at hosts, and here: one price list for docs/costs.md and `lfs-quota du --git --cost`. */

export interface Team {
  readonly storedBytes: number;
  readonly objects: number;
  /** GB (10⁹ bytes) that users and CI download in a month. */
  readonly downloadsGb: number;
  readonly users: number;
}

export interface MonthAt {
  readonly place: string;
  /** The cheapest plan of a host that the team fits in. null: it fits in none, or there are none. */
  readonly plan: string | null;
  /** null: the team fits in no plan. */
  readonly dollars: number | null;
  /** The date of the price list, and whether a price of it isn't confirmed. */
  readonly prices: string;
}

/** A month of a team. What is stored and downloaded is in units of the host. */
interface Usage {
  readonly stored: number;
  readonly downloaded: number;
  readonly users: number;
}

const [GB, GiB, tooLarge] = [1e9, 1024 ** 3, Number.POSITIVE_INFINITY];

/** What is above the free amount, in units or packs. They are sold whole. */
const above = (free: number, amount: number, unitsOfPack = 1) =>
  Math.max(0, Math.ceil((amount - free) / unitsOfPack));

const gitHub = (free: number, { stored, downloaded }: Usage) =>
  0.07 * above(free, stored) + 0.0875 * above(free, downloaded);

/** Copied from public price lists: docs/costs.md says which, and what is unconfirmed. Plans are dollars by usage. */
const hosts = [
  {
    place: 'GitHub LFS',
    unitBytes: GiB,
    prices: '2025-12-01, unconfirmed',
    plans: {
      Free: (usage: Usage) => gitHub(10, usage),
      Team: (usage: Usage) => 4 * usage.users + gitHub(250, usage),
    },
  },
  {
    place: 'GitLab.com',
    unitBytes: GiB,
    prices: '2026-09-20',
    plans: {
      Free: ({ stored, users }: Usage) => (stored > 500 || users > 5 ? tooLarge : 5 * above(10, stored, 10)),
      Premium: ({ stored, users }: Usage) => (stored > 500 ? tooLarge : 29 * users),
    },
  },
  {
    place: 'Hugging Face, private',
    unitBytes: GB,
    prices: '2026-09-20',
    plans: {
      Free: ({ stored }: Usage) => (stored > 100 ? tooLarge : 0),
      Team: ({ stored, users }: Usage) => 20 * users + 18 * above(1000 * users, stored, 1000),
    },
  },
] as const;

function monthAt({ place, unitBytes, prices, plans }: (typeof hosts)[number], team: Team): MonthAt {
  const downloaded = (team.downloadsGb * GB) / unitBytes;
  const usage = { stored: team.storedBytes / unitBytes, downloaded, users: team.users };
  const months = Object.entries(plans).map(([plan, month]) => ({ plan, dollars: month(usage) }));
  const cheapest = months.reduce((best, month) => (month.dollars < best.dollars ? month : best));
  return { place, prices, ...(cheapest.dollars === tooLarge ? { plan: null, dollars: null } : cheapest) };
}

/** GB that are downloaded in a month for each GB that is stored, if nobody says more. */
export const downloadsPerStored = 3;
const objectsPerPush = 20;
/** The part of the objects that is new in a month. */
const pushedShare = 0.1;

function costHere({ storedBytes, objects, downloadsGb }: Team, store: StoreName, cdn = false) {
  const objectBytes = storedBytes / objects;
  const pushes = (pushedShare * objects) / objectsPerPush;
  const fetches = (downloadsGb * GB) / objectBytes / objectsPerPush;
  const team = { tenants: 1, objects, objectMb: objectBytes / 1024 ** 2, pushes, fetches, cdn };
  return sumOf(monthOf({ ...defaultWorkload, ...team, monitoring: 'basic' }, store));
}

/** A month of a team that stores something, at each host and in each way to run lfs-quota. */
export function monthEverywhere(team: Team): readonly MonthAt[] {
  const [s3, r2, cdn] = [costHere(team, 's3'), costHere(team, 'r2'), costHere(team, 's3', true)];
  const here = { plan: null, prices: pricesAsOf };
  const viaCdn = { plan: null, prices: '2026-11-27, unconfirmed' };
  return [
    ...hosts.map((host) => monthAt(host, team)),
    { place: 'lfs-quota on AWS, with S3', dollars: totalOf(s3), ...here },
    { place: 'lfs-quota on AWS, with S3 and CloudFront', dollars: totalOf(cdn), ...viaCdn },
    { place: 'lfs-quota on AWS, with R2', dollars: totalOf(r2), ...here },
    // The same requests to the bucket.
    { place: 'lfs-quota on your machine, with R2', dollars: r2.store + r2.bytes, ...here },
    { place: 'lfs-quota on your machine, with its disk', dollars: 0, ...here },
  ];
}

const teamOf = (gb: number, users: number): Team => {
  return { storedBytes: gb * GB, objects: gb * 200, downloadsGb: downloadsPerStored * gb, users };
};

/** The teams of docs/costs.md, with objects of 5 MB. */
export const teams = [teamOf(5, 3), teamOf(50, 10), teamOf(500, 30)];
