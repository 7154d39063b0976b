import { defaultWorkload, monthOf, pricesAsOf, type StoreName, sumOf, totalOf } from './operations.ts';

/** What a team's Git LFS costs a month at hosts, and here: one price list for docs/costs.md and `lfs-quota du --git --cost`. */

export interface Team {
  readonly storedBytes: number;
  readonly objects: number;
  /** GB (10⁹ bytes) that users and CI download in a month. */
  readonly downloadsGb: number;
  readonly users: number;
}

/** What a month costs at a place. */
export interface MonthAt {
  readonly place: string;
  /** The cheapest plan of a host that the team fits in; undefined: it has none, or fits in none. */
  readonly plan: string | undefined;
  /** undefined: the team fits in no plan. */
  readonly dollars: number | undefined;
  /** The date of the price list. */
  readonly pricesAsOf: string;
  /** A price is not from a current list of the host. */
  readonly isUnconfirmed: boolean;
}

/** In units of the host. */
interface Plan {
  readonly name: string;
  /** Dollars for a user. */
  readonly user: number;
  readonly usersMax?: number;
  readonly storedFree: number;
  /** The same, for each user. */
  readonly storedFreeOfUser?: number;
  /** What can be bought: dollars for so many units, of which only whole packs are sold if it says so. */
  readonly more?: { readonly units: number; readonly dollars: number; readonly isPack?: boolean };
  /** Of one repo. */
  readonly storedMax?: number;
  readonly downloads?: { readonly free: number; readonly dollars: number };
}

interface Host {
  readonly name: string;
  readonly unitBytes: number;
  readonly pricesAsOf: string;
  readonly isUnconfirmed?: boolean;
  readonly plans: readonly Plan[];
}

const GB = 1e9;
const GiB = 1024 ** 3;

/** docs.github.com: billing of Git LFS. The price page of 2026-09-20 has $4 a user, and still packs of $5 for 50 GB of LFS. */
const gitHubMore = { units: 1, dollars: 0.07 };

/**
 * Copied from public price lists: about.gitlab.com/pricing and docs.gitlab.com/user/storage_usage_quotas, huggingface.co/pricing
 * and huggingface.co/docs/hub/storage-limits. GitLab and Hugging Face list no price for downloads.
 */
const hosts: readonly Host[] = [
  {
    name: 'GitHub LFS',
    unitBytes: GiB,
    pricesAsOf: '2025-12-01',
    isUnconfirmed: true,
    plans: [
      { name: 'Free', user: 0, storedFree: 10, more: gitHubMore, downloads: { free: 10, dollars: 0.0875 } },
      { name: 'Team', user: 4, storedFree: 250, more: gitHubMore, downloads: { free: 250, dollars: 0.0875 } },
    ],
  },
  {
    name: 'GitLab.com',
    unitBytes: GiB,
    pricesAsOf: '2026-09-20',
    plans: [
      {
        name: 'Free',
        user: 0,
        usersMax: 5,
        storedFree: 10,
        more: { units: 10, dollars: 5, isPack: true },
        storedMax: 500,
      },
      { name: 'Premium', user: 29, storedFree: 500, storedMax: 500 },
    ],
  },
  {
    name: 'Hugging Face, private',
    unitBytes: GB,
    pricesAsOf: '2026-09-20',
    plans: [
      { name: 'Free', user: 0, storedFree: 100, storedMax: 100 },
      {
        name: 'Team',
        user: 20,
        storedFree: 0,
        storedFreeOfUser: 1000,
        more: { units: 1000, dollars: 18, isPack: true },
      },
    ],
  },
];

/** @returns dollars a month; undefined: the team doesn't fit. */
function planMonth(plan: Plan, { unitBytes }: Host, team: Team): number | undefined {
  const stored = team.storedBytes / unitBytes;
  const { usersMax = Number.POSITIVE_INFINITY, storedMax = Number.POSITIVE_INFINITY, more, downloads } = plan;
  if (team.users > usersMax || stored > storedMax) return undefined;
  const above = Math.max(0, stored - plan.storedFree - (plan.storedFreeOfUser ?? 0) * team.users);
  if (above > 0 && more === undefined) return undefined;
  const packs = above / (more?.units ?? 1);
  const downloaded = (team.downloadsGb * GB) / unitBytes;
  return (
    plan.user * team.users +
    (more?.isPack ? Math.ceil(packs) : packs) * (more?.dollars ?? 0) +
    Math.max(0, downloaded - (downloads?.free ?? 0)) * (downloads?.dollars ?? 0)
  );
}

function monthAtHost(host: Host, team: Team): MonthAt {
  const { name: place, isUnconfirmed = false } = host;
  const [cheapest] = host.plans
    .map(({ name, ...plan }) => ({ name, dollars: planMonth({ name, ...plan }, host, team) }))
    .filter(({ dollars }) => dollars !== undefined)
    .sort((a, b) => (a.dollars ?? 0) - (b.dollars ?? 0));
  const { name: plan, dollars } = cheapest ?? { name: undefined, dollars: undefined };
  return { place, plan, dollars, pricesAsOf: host.pricesAsOf, isUnconfirmed };
}

/** GB that are downloaded in a month for each GB that is stored, if nobody says more. */
export const downloadsPerStored = 3;
const objectsPerPush = 20;
/** The part of the objects that is pushed anew in a month. */
const pushedShare = 0.1;

function costHere(team: Team, store: StoreName) {
  const { storedBytes, objects, downloadsGb } = team;
  const objectBytes = storedBytes / objects;
  const workload = {
    ...defaultWorkload,
    tenants: 1,
    objects,
    objectMb: objectBytes / 1024 ** 2,
    pushes: (pushedShare * objects) / objectsPerPush,
    fetches: (downloadsGb * GB) / objectBytes / objectsPerPush,
    monitoring: 'basic' as const,
  };
  return sumOf(monthOf(workload, store));
}

/** A month of a team that stores something, at each host and in each way to run lfs-quota. */
export function monthEverywhere(team: Team): readonly MonthAt[] {
  const here = { plan: undefined, pricesAsOf, isUnconfirmed: false };
  const [s3, r2] = [costHere(team, 's3'), costHere(team, 'r2')];
  return [
    ...hosts.map((host) => monthAtHost(host, team)),
    { place: 'lfs-quota on AWS, with S3', dollars: totalOf(s3), ...here },
    { place: 'lfs-quota on AWS, with R2', dollars: totalOf(r2), ...here },
    // The same requests, by a machine that is paid for otherwise.
    { place: 'lfs-quota on your machine, with R2', dollars: r2.store + r2.bytes, ...here },
    { place: 'lfs-quota on your machine, with its disk', dollars: 0, ...here },
  ];
}

/** The teams of docs/costs.md, with objects of 5 MB and three downloads of everything a month. */
export const teams: readonly Team[] = [
  { storedGb: 5, users: 3 },
  { storedGb: 50, users: 10 },
  { storedGb: 500, users: 30 },
].map(({ storedGb, users }) => ({
  storedBytes: storedGb * GB,
  objects: storedGb * 200,
  downloadsGb: downloadsPerStored * storedGb,
  users,
}));
