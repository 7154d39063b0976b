import {
  chargedUntilMs,
  dueAfterActivityMs,
  dueAfterFullMs,
  mayBeginAtMs,
} from '../../lambda/domain/recount-policy.ts';
import type { RefreshState } from '../../lambda/domain/refresh-state.ts';
import type { Settings } from '../../lambda/domain/settings.ts';
import type { TenantRecord } from '../../lambda/domain/tenant.ts';
import type { RecountRequest } from '../../lambda/ports/recount-queue.ts';
import type { Deps } from '../../lambda/use-cases/deps.ts';
import { refresh } from '../../lambda/use-cases/recounts/refresh.ts';
import { noMetrics } from '../../local/no-metrics.ts';
import { DueIndex, dead, full, never } from './due-index.ts';
import { kinds, worksOf } from './tenants.ts';
import { Waits } from './waits.ts';

const minuteMs = 60_000;
/** From a push to the death of its reservation: URL, slack, the longest PUT. */
const deadAfterMs = 37 * minuteMs;
/** From a message's send to its delivery. */
const delayMs = 35_000;

export interface StageInput {
  readonly tenants: number;
  readonly concurrency: number;
  readonly settings: Settings;
  readonly beganMs: number;
}

/** A message of the schedule. */
interface Message {
  readonly tenant: number;
  readonly isFull: boolean;
  readonly dueAtMs: number;
}

/** What happened, by what it costs. */
export interface Tally {
  pushes: number;
  runs: number;
  queued: number;
  full: number[];
  dead: number[];
  push: number[];
  deferred: number;
  inVain: number;
  longestQueue: number;
}

/**
 * A million tenants and their schedule. The use case that hands tenants on and the policy are the product's; its ledger
 * is an index in memory, and a recount is what it does to a tenant's times. A push is recounted half a minute later, or
 * once the budget allows it.
 */
export class Stage {
  readonly index: DueIndex;
  readonly tally: Tally;
  /** From due, and affordable, to handed on; and to the end of its recount. */
  readonly waits = { handed: new Waits(), counted: new Waits(), deferred: new Waits() };
  nowMs: number;
  readonly #input: StageInput;
  readonly #works = kinds.map(worksOf);
  readonly #kindOf: Uint8Array;
  readonly #countedAtMs: Float64Array;
  readonly #listedUntilMs: Float64Array;
  readonly #epoch: Uint32Array;
  /** When a push's recount is still to come. */
  readonly #pushedAtMs: Float64Array;
  /** The tenants that push in each minute. */
  readonly #pushing: (number[] | undefined)[] = [];
  readonly #queue: Message[] = [];
  #queueHead = 0;
  #busyUntilMs: number;
  #state: RefreshState | undefined;
  readonly #deps: Pick<Deps, 'ledger' | 'queue' | 'clock' | 'metrics' | 'settings'>;

  constructor(input: StageInput) {
    const { tenants, beganMs, settings } = input;
    this.#input = input;
    this.nowMs = beganMs;
    this.#busyUntilMs = beganMs;
    this.index = new DueIndex({ tenants, beganMs });
    this.#kindOf = new Uint8Array(tenants);
    this.#countedAtMs = new Float64Array(tenants);
    this.#listedUntilMs = new Float64Array(tenants);
    this.#epoch = new Uint32Array(tenants);
    this.#pushedAtMs = new Float64Array(tenants).fill(never);
    const zeros = () => kinds.map(() => 0);
    this.tally = {
      pushes: 0,
      runs: 0,
      queued: 0,
      full: zeros(),
      dead: zeros(),
      push: zeros(),
      deferred: 0,
      inVain: 0,
      longestQueue: 0,
    };
    this.#settle();
    this.#deps = {
      settings,
      metrics: noMetrics,
      clock: { nowMs: () => this.nowMs, sleep: async () => undefined },
      queue: {
        request: async (request) => this.#send([request]),
        requestAll: async (all) => this.#send(all),
      },
      ledger: {
        dueTenants: async (input) => this.index.find(input),
        readTenant: async (tenant) => this.#record(Number(tenant)),
        readRefreshState: async () => this.#state,
        putRefreshState: async (state) => {
          this.#state = state;
        },
      } as Partial<Deps['ledger']> as Deps['ledger'],
    };
  }

  /** One minute: pushes, what the queue delivers, and a run of the schedule at its end. */
  async minute(): Promise<void> {
    const untilMs = this.nowMs + minuteMs;
    this.#push(untilMs);
    this.#deliver(untilMs);
    this.nowMs = untilMs;
    this.tally.runs += 1;
    await refresh(this.#deps);
    this.tally.longestQueue = Math.max(this.tally.longestQueue, this.waiting);
  }

  /** Messages of the schedule that wait. */
  get waiting(): number {
    return this.#queue.length - this.#queueHead;
  }

  /** Those that are due and could be counted, and for how long the longest could. */
  overdue(): { count: number; longestMs: number } {
    let [count, longestMs] = [0, 0];
    for (let tenant = 0; tenant < this.#input.tenants; tenant += 1) {
      const dueAtMs = Math.min(this.index.dueAtMs(tenant, full), this.index.dueAtMs(tenant, dead));
      const waitedMs = this.nowMs - Math.max(dueAtMs, this.#beginAtMs(tenant));
      if (waitedMs < 0) continue;
      count += 1;
      longestMs = Math.max(longestMs, waitedMs);
    }
    return { count, longestMs };
  }

  /** A stage that has run for long: counts are due, and pushes come, at all times alike. */
  #settle(): void {
    const { tenants, beganMs, settings } = this.#input;
    let kind = 0;
    let until = (kinds[0]?.share ?? 1) * tenants;
    for (let tenant = 0; tenant < tenants; tenant += 1) {
      while (tenant >= until && kind < kinds.length - 1) {
        kind += 1;
        until += (kinds[kind]?.share ?? 0) * tenants;
      }
      this.#kindOf[tenant] = kind;
      // Numbers that are spread as evenly as can be.
      const [early, late] = [(tenant * 0.618033988749895) % 1, (tenant * 0.754877666246693) % 1];
      const { pushEveryMs = never } = kinds[kind] ?? {};
      const agesMs = pushEveryMs === never ? settings.idleRefreshMaxMs : settings.maxAgeMs;
      this.#countedAtMs[tenant] = beganMs - early * agesMs;
      this.index.set(tenant, full, beganMs + Math.round((1 - early) * agesMs));
      if (pushEveryMs !== never) this.#pushAgain(tenant, beganMs + Math.round(late * pushEveryMs));
    }
  }

  #pushAgain(tenant: number, atMs: number): void {
    const minute = Math.floor((atMs - this.#input.beganMs) / minuteMs);
    const list = this.#pushing[minute];
    if (list === undefined) this.#pushing[minute] = [tenant];
    else list.push(tenant);
  }

  /** The pushes of a minute, and recounts of those before whose time has come. */
  #push(untilMs: number): void {
    const minute = Math.floor((this.nowMs - this.#input.beganMs) / minuteMs);
    const list = this.#pushing[minute] ?? [];
    this.#pushing[minute] = undefined;
    for (const tenant of list) {
      const { pushEveryMs = never } = kinds[this.#kindOf[tenant] ?? 0] ?? {};
      if ((this.#pushedAtMs[tenant] ?? never) <= untilMs) {
        // Its recount was deferred until now.
        this.#pushedAtMs[tenant] = never;
        this.#recountPush(tenant, untilMs);
        continue;
      }
      this.tally.pushes += 1;
      // Not all in the same second.
      const deadAtMs = this.nowMs + deadAfterMs + ((tenant * 7919) % minuteMs);
      if (this.index.dueAtMs(tenant, dead) === never) this.index.set(tenant, dead, deadAtMs);
      this.#pushAgain(tenant, this.nowMs + pushEveryMs);
      const waits = (this.#pushedAtMs[tenant] ?? never) !== never;
      const beginAtMs = this.#beginAtMs(tenant);
      if (beginAtMs <= untilMs) this.#recountPush(tenant, untilMs);
      else if (!waits) {
        this.#pushedAtMs[tenant] = beginAtMs;
        this.#pushAgain(tenant, beginAtMs);
      }
    }
  }

  #recountPush(tenant: number, nowMs: number): void {
    const kind = this.#kindOf[tenant] ?? 0;
    const work = this.#works[kind]?.push;
    if (!work) return;
    this.tally.push[kind] = (this.tally.push[kind] ?? 0) + 1;
    this.#busy(work.busyMs, nowMs);
    this.#count(tenant, { nowMs, lists: work.lists, isFull: false });
  }

  #send(requests: readonly RecountRequest[]): void {
    for (const request of requests) {
      const tenant = Number(request.tenant);
      const [fullAtMs, deadAtMs] = [this.index.dueAtMs(tenant, full), this.index.dueAtMs(tenant, dead)];
      const dueAtMs = Math.min(fullAtMs, deadAtMs);
      this.tally.queued += 1;
      this.waits.handed.add(this.nowMs - Math.max(dueAtMs, this.#beginAtMs(tenant)));
      this.#queue.push({ tenant, isFull: request.full, dueAtMs });
    }
  }

  /** The functions take message after message, as long as their minute lasts. */
  #deliver(untilMs: number): void {
    while (this.#queueHead < this.#queue.length && this.#busyUntilMs < untilMs) {
      const message = this.#queue[this.#queueHead];
      this.#queueHead += 1;
      if (message) this.#handle(message, Math.max(this.#busyUntilMs, this.nowMs + delayMs));
    }
    if (this.#queueHead > 100_000) {
      this.#queue.splice(0, this.#queueHead);
      this.#queueHead = 0;
    }
  }

  #handle({ tenant, isFull, dueAtMs }: Message, nowMs: number): void {
    const kind = this.#kindOf[tenant] ?? 0;
    const works = this.#works[kind];
    const isDue = this.index.dueAtMs(tenant, full) <= nowMs;
    if (!works || (isFull && !isDue)) {
      this.tally.inVain += 1;
      return;
    }
    const beginAtMs = this.#beginAtMs(tenant);
    if (beginAtMs > nowMs) {
      this.tally.deferred += 1;
      this.waits.deferred.add(beginAtMs - nowMs);
      return;
    }
    const work = isDue ? works.full : works.dead;
    const tally = isDue ? this.tally.full : this.tally.dead;
    tally[kind] = (tally[kind] ?? 0) + 1;
    this.#busy(work.busyMs, nowMs);
    this.waits.counted.add(nowMs - Math.max(dueAtMs, beginAtMs));
    this.#count(tenant, { nowMs, lists: work.lists, isFull: isDue });
  }

  #busy(busyMs: number, nowMs: number): void {
    this.#busyUntilMs = Math.max(this.#busyUntilMs, nowMs - minuteMs) + busyMs / this.#input.concurrency;
  }

  /** What a recount does to a tenant's times. */
  #count(tenant: number, input: { nowMs: number; lists: number; isFull: boolean }): void {
    const { settings } = this.#input;
    const { nowMs, lists, isFull } = input;
    const listedUntilMs = chargedUntilMs(settings, {
      listedUntilMs: this.#listedUntilMs[tenant] ?? 0,
      requests: lists,
      nowMs,
    });
    const unchangedForMs = nowMs - (this.#countedAtMs[tenant] ?? 0);
    this.#listedUntilMs[tenant] = listedUntilMs;
    this.#countedAtMs[tenant] = nowMs;
    this.#epoch[tenant] = (this.#epoch[tenant] ?? 0) + 1;
    const of = { tenant: String(tenant), epoch: this.#epoch[tenant] ?? 0, countedAtMs: nowMs, listedUntilMs };
    if (this.index.dueAtMs(tenant, dead) <= nowMs) this.index.set(tenant, dead, never);
    if (isFull) {
      const isIdle = kinds[this.#kindOf[tenant] ?? 0]?.pushEveryMs === never;
      const dueAtMs = dueAfterFullMs(settings, { ...of, unchangedForMs: isIdle ? unchangedForMs : 0 });
      this.index.set(tenant, full, dueAtMs);
      return;
    }
    const dueAtMs = this.index.dueAtMs(tenant, full);
    // The policy never comes to an earlier time than this.
    if (dueAtMs > nowMs + 0.9 * settings.maxAgeMs)
      this.index.set(tenant, full, dueAfterActivityMs(settings, { ...of, dueAtMs }));
  }

  #beginAtMs(tenant: number): number {
    return mayBeginAtMs(this.#input.settings, { tenant: this.#record(tenant), urgency: 'background' });
  }

  /** What the policy looks at. */
  #record(tenant: number): TenantRecord {
    const countedAtMs = this.#countedAtMs[tenant] ?? 0;
    return {
      counted: { storedBytes: 0, objectCount: 0, countedAtMs },
      listedUntilMs: this.#listedUntilMs[tenant] ?? 0,
      closedAtMs: null,
    } as Partial<TenantRecord> as TenantRecord;
  }
}
