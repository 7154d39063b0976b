import { usualLateMaxMs } from './actor.ts';
import type { Coverage } from './coverage.ts';
import { fileName, oidName, repoName } from './names.ts';
import type { Account, World } from './world.ts';

/** The world as one tenant's people see it. */
export class TenantWorld {
  readonly tenant: string;
  readonly truth: Account['truth'];
  readonly invariants: Account['invariants'];
  /** Whether somebody declares false sizes. */
  readonly hasLies: boolean;
  readonly hasTricklers: boolean;
  readonly isSqs: boolean;
  readonly random: World['random'];
  readonly scheduler: World['scheduler'];
  readonly weather: World['weather'];
  readonly mishaps: World['mishaps'];
  readonly settings: World['settings'];
  readonly archives: World['archives'];
  readonly downloadLimitBytes: World['downloadLimitBytes'];
  readonly areFilesLost: boolean;
  readonly offerDownload: World['offerDownload'];
  readonly makers: number;
  readonly filesRepos: World['filesRepos'];
  readonly findsFiles: boolean;
  readonly inParts: boolean;
  /** What was written without an answer may land as late as this. */
  readonly lateMaxMs: number;
  readonly coverage: Coverage;
  readonly wait: World['wait'];
  readonly start: World['start'];
  readonly fail: World['fail'];
  readonly invoke: World['invoke'];
  readonly enqueue: World['enqueue'];
  readonly consume: World['consume'];
  readonly sizeOf: World['sizeOf'];
  readonly isFair: World['isFair'];
  readonly #world: World;

  constructor(world: World, account: Account) {
    this.#world = world;
    this.tenant = account.tenant;
    this.truth = account.truth;
    this.invariants = account.invariants;
    this.hasLies = account.hasLies;
    this.hasTricklers = account.hasTricklers;
    this.isSqs = world.isSqs;
    this.random = world.random;
    this.scheduler = world.scheduler;
    this.weather = world.weather;
    this.mishaps = world.mishaps;
    this.settings = world.settings;
    this.archives = world.archives;
    this.downloadLimitBytes = world.downloadLimitBytes;
    this.areFilesLost = world.areFilesLost;
    this.offerDownload = world.offerDownload;
    this.makers = world.makers;
    this.filesRepos = world.filesRepos;
    this.findsFiles = world.findsFiles;
    this.inParts = world.inParts;
    this.lateMaxMs = world.mix.lateMaxMs ?? usualLateMaxMs;
    this.coverage = world.coverage;
    this.wait = world.wait.bind(world);
    this.start = world.start.bind(world);
    this.fail = world.fail.bind(world);
    this.invoke = world.invoke.bind(world);
    this.enqueue = world.enqueue.bind(world);
    this.consume = world.consume.bind(world);
    this.sizeOf = world.sizeOf.bind(world);
    this.isFair = world.isFair.bind(world);
  }

  /** Somebody puts an object straight into the bucket, or removes one. @param change.sizeBytes undefined: removed. */
  changeAround(change: { name: string; sizeBytes?: number }): void {
    this.#world.changeAround(this.tenant, change);
  }

  /** What an object is called in a repo, as it is now. */
  nameOf(repo: number, oid: number): string {
    return (this.truth.files.has(repoName(repo)) ? fileName : oidName)(oid);
  }

  /** An upload ends. */
  land(object: { repo: string; oid: string; sizeBytes: number; beganMs: number }): void {
    this.#world.land({ ...object, tenant: this.tenant });
  }

  get scheduledFromMs(): number {
    return this.#world.scheduledFromMs;
  }
}
