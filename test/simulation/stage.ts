import { defaultSettings, type Settings } from '../../lambda/core/rules/settings.ts';
import { type AdoptedRepo, nameLayouts } from '../../lambda/core/store/rules/adopted-repos.ts';
import { Random } from '../support/random.ts';
import { repoName, tenantName } from './names.ts';

/** What a run's stage and people are like. Each choice has its own random source, so that it does not change others. */

export interface Stage {
  readonly settings: Partial<Settings>;
  /** Whether the stage has events of the store. */
  readonly hasStoreEvents: boolean;
  /** After how many failures a reconcile is a dead letter. undefined: the queue is none of SQS. */
  readonly attemptsMax: number | undefined;
  /** Whether clients trickle: they send so slowly that their PUTs end hours after their reservation is lapsed. */
  readonly hasTricklers: boolean;
  /** From one run of the schedule to the next. */
  readonly scheduleMinutes: number;
  /** What somebody does with the limits of repos, in each tenant, one after the other. */
  readonly repoLimits: readonly LimitRepoStep[];
  /** Repos whose objects lie where another server put them. */
  readonly adoptedRepos: readonly AdoptedRepo[];
  /** Whether some pages of reads and listings take up to half a minute, and some deletes until their deadline. */
  readonly isSlow: boolean;
  /** Whether the store never has a file of the service's own as it was put, so that no gc run can end as it should. */
  readonly areFilesLost: boolean;
  /** How many tokens a tenant's people push with. 0: an older version did not say whose a reservation is. */
  readonly makers: number;
  /** When the operator cancels what is late, each after the one before. */
  readonly cancelsAfterMs: readonly number[];
  /** Indexes of the repos whose objects are files, in each tenant. */
  readonly filesRepos: readonly number[];
  /** Whether a scan found those before somebody says that they are of files. */
  readonly findsFiles: boolean;
  /** Whether files larger than one PUT carries are uploaded in parts. */
  readonly inParts: boolean;
  /** Of each tenant, in a month. */
  readonly downloadLimitBytes: number | null;
}

interface LimitRepoStep {
  readonly afterMs: number;
  readonly repo: number;
  readonly limitBytes: number | null;
}

/** A stage with the defaults. */
export const usualStage: Stage = {
  settings: {},
  hasStoreEvents: false,
  attemptsMax: 20,
  hasTricklers: false,
  scheduleMinutes: 1,
  repoLimits: [],
  adoptedRepos: [],
  isSlow: false,
  areFilesLost: false,
  makers: 0,
  cancelsAfterMs: [],
  filesRepos: [],
  findsFiles: false,
  inParts: false,
  downloadLimitBytes: null,
};

export function stageOf(seed: number): Stage {
  return {
    settings: {
      putMinBytesPerSecond: putMinBytesPerSecondOf(seed),
      // Else it takes years at the lowest rate.
      objectBytesMax: 100,
      ...policyOf(seed),
      ...largeReposOf(seed),
    },
    hasStoreEvents: hasStoreEvents(seed),
    attemptsMax: attemptsMaxOf(seed),
    hasTricklers: hasTricklers(seed),
    scheduleMinutes: scheduleMinutesOf(seed),
    repoLimits: repoLimitsOf(seed),
    adoptedRepos: [],
    isSlow: isSlow(seed),
    areFilesLost: new Random(seed ^ 0xf_11e).chance(0.1),
    makers: new Random(seed ^ 0x3a_4e).pick([0, 1, 2, 3]),
    cancelsAfterMs: cancelsAfterMsOf(seed),
    filesRepos: new Random(seed ^ 0xf1_1e5).pick([[], [], [], [1]]),
    findsFiles: new Random(seed ^ 0xf1_0d).chance(0.3),
    inParts: false,
    downloadLimitBytes: new Random(seed ^ 0xd_0).pick([null, 60, 300]),
  };
}

/** Every repo is a large repo, or becomes one. */
export function largeRepoStageOf(seed: number): Stage {
  const stage = stageOf(seed);
  const largeRepos = anyLargeRepos(new Random(seed ^ 0x61_a8));
  const filesRepos = new Random(seed ^ 0x1a_f1).pick([[], [], [1], [0, 1]]);
  // A mark that lands after its grace time does not protect.
  return { ...stage, filesRepos, settings: { ...stage.settings, ...largeRepos, deleteGraceMs: 20 * 60_000 } };
}

/**
 * Files in each tenant, mostly beside a repo of git-lfs, and more often than else with PUTs that end hours late. In half of the runs
 * the larger ones are uploaded in two parts or three.
 */
export function filesStageOf(seed: number): Stage {
  const random = new Random(seed ^ 0xf1_1e);
  const stage = stageOf(seed);
  const filesRepos = random.pick([[1], [0, 1]]);
  const hasTricklers = stage.hasTricklers || random.chance(0.25);
  const inParts = random.chance(0.5);
  const settings = { ...stage.settings, ...(inParts && { objectBytesMax: 20 }) };
  return { ...stage, filesRepos, hasTricklers, inParts, settings };
}

/** A repo or two of the first tenant are adopted, in any layout: in a bucket of its own, or below a path. */
export function adoptedStageOf(seed: number): Stage {
  const random = new Random(seed ^ 0xad_07);
  const adopted = (index: number, path: string): AdoptedRepo => ({
    tenant: tenantName(0),
    repo: repoName(index),
    path,
    names: random.pick(nameLayouts),
  });
  const adoptedRepos = random.pick([
    () => [adopted(0, '')],
    () => [adopted(1, 'lfs/')],
    () => [adopted(0, 'a/lfs/'), adopted(1, 'b/')],
  ])();
  return { ...stageOf(seed), adoptedRepos, filesRepos: [] };
}

/** How tight the tenant's budget is. It has its own random source, so that it does not change other choices. */
function policyOf(
  seed: number,
): Pick<Settings, 'reconcileRestMs' | 'listRequestsPerHour' | 'unconfirmedEntriesMax' | 'headsPerList'> {
  const random = new Random(seed ^ 0x5eed);
  return {
    reconcileRestMs: random.pick([0, 0, 10_000, 60_000]),
    // Not below 60, the least that a stage can set: with less, failed initial scans may use up a client's patience.
    listRequestsPerHour: random.pick([1_000_000, 1_200, 240, 60, 60]),
    // Usually far away. With little, most deletes of what is young wait.
    unconfirmedEntriesMax: random.pick([100_000, 100_000, 100_000, 4]),
    // With 1, batches of a few objects find out what is stored by listing, too.
    headsPerList: random.pick([13, 1]),
  };
}

/**
 * How slowly a PUT may send. Its own random source again. At the lower rates the largest object may take half an hour,
 * and a small one seconds, so reservations differ in when they are lapsed.
 */
function putMinBytesPerSecondOf(seed: number): number {
  return new Random(seed ^ 0xb16).pick([defaultSettings.putMinBytesPerSecond, 0.5, 0.03]);
}

/** This has its own random source too. */
function hasStoreEvents(seed: number): boolean {
  return new Random(seed ^ 0x70_1d).chance(0.3);
}

function isSlow(seed: number): boolean {
  return new Random(seed ^ 0x5_10).chance(0.2);
}

/** In half of the runs a repo of a few objects is a large repo, and a shard of one or two is large. */
function largeReposOf(seed: number): Partial<Settings> {
  const random = new Random(seed ^ 0x61_a7);
  return random.chance(0.5) ? {} : anyLargeRepos(random);
}

function anyLargeRepos(random: Random): Partial<Settings> {
  return {
    largeRepoObjects: random.pick([1, 2, 4]),
    shardObjectsMax: random.pick([2, 4, 100]),
    shardRoundMs: random.chance(0.8) ? defaultSettings.shardRoundMs : random.pick([3_600_000, 900_000]),
    shardListsPerHour: random.pick([1_000_000, 1_000_000, 3_600]),
    shardListsPerRun: random.pick([4, 20]),
  };
}

function attemptsMaxOf(seed: number): number | undefined {
  const random = new Random(seed ^ 0x50_5e);
  return random.chance(0.5) ? random.pick([20, 20, 3, 1]) : undefined;
}

function hasTricklers(seed: number): boolean {
  return new Random(seed ^ 0x51_0e).chance(0.15);
}

/** In an eighth of the runs. */
function cancelsAfterMsOf(seed: number): number[] {
  const random = new Random(seed ^ 0xca_4c);
  if (!random.chance(0.125)) return [];
  return Array.from({ length: random.int(1, 3) }, () => random.int(30 * 60_000, 3 * 60 * 60_000));
}

/** Mostly rarer than by default, so that more hangs on the queue. */
function scheduleMinutesOf(seed: number): number {
  return new Random(seed ^ 0x5c_ed).pick([15, 15, 15, 1]);
}

/** In a third of the runs repos have limits, from the beginning or later. */
function repoLimitsOf(seed: number): LimitRepoStep[] {
  const random = new Random(seed ^ 0x11_317);
  if (!random.chance(0.35)) return [];
  return Array.from({ length: random.int(1, 5) }, () => ({
    afterMs: random.pick([
      0,
      0,
      random.int(0, 3_000),
      random.int(3_000, 120_000),
      random.int(0, 50 * 60_000),
    ]),
    repo: random.int(0, 1),
    limitBytes: random.chance(0.15) ? null : random.int(10, 120),
  }));
}
