import { unmarkChange } from '../../../lambda/adapters/dynamodb/deletions.ts';
import { longestDue } from '../../../lambda/adapters/dynamodb/due-tenants.ts';
import { tenantChange } from '../../../lambda/adapters/dynamodb/reconciles.ts';
import type { Cleanup } from '../../../lambda/domain/cleanup/cleanup.ts';
import type { SeenNote } from '../../../lambda/domain/cleanup/watch.ts';
import { type Deletion, oidsOf, singleIdStart } from '../../../lambda/domain/deletion.ts';
import type { Shard } from '../../../lambda/domain/giant/shard.ts';
import type { DueTenant, RefreshState } from '../../../lambda/domain/refresh-state.ts';
import { onceMoreIdStart, type Reservation } from '../../../lambda/domain/reservation.ts';
import {
  isChangeUnknown,
  type RepoLimit,
  type RepoRecord,
  type TenantRecord,
  tenantClaimsMax,
} from '../../../lambda/domain/tenant.ts';
import type {
  AddOutcome,
  DeletionKey,
  DeletionPage,
  Input,
  Ledger,
  LimitCommit,
  NewTenant,
  Output,
  RepoPath,
  ReservationKey,
  ReservationPage,
  SettingsOutcome,
  TenantCommit,
} from '../../../lambda/ports/ledger.ts';
import { checkExpression, fitting, itemBytesMax } from './item-limits.ts';

interface TenantItems {
  record: TenantRecord;
  leaseHolder?: string;
  readonly repos: Map<string, RepoRecord>;
  readonly reservations: ReservationItems;
  /** Key of a reservation → when its tenant is due while it is pending, if it was put with that. */
  readonly pendingDueAtMs: Map<string, number>;
  readonly deletions: Map<string, Deletion>;
  /** repo → prefix → shard. */
  readonly shards: Map<string, Map<string, Shard>>;
  /** repo → clean-up, and which call wrote it last. */
  readonly cleanups: Map<string, { cleanup: Cleanup; writeId: string }>;
  /** Watch → key → note. */
  readonly seen: Map<string, Map<string, SeenNote>>;
  /** `repo/oid` → when a clean-up deleted it. */
  readonly gone: Map<string, number>;
}

/**
 * The ledger in memory, for tests and the simulator. Every method is one atomic step with the same conditions as on the
 * table, and the same limits of an item and of an update. With a small `pageSize`, a simulation can let things happen between the pages of a read.
 */
export class MemoryLedger implements Ledger {
  readonly #tenants = new Map<string, TenantItems>();
  #refreshState: RefreshState | undefined;
  readonly #pageSize: number;
  readonly #itemBytesMax: number;
  readonly #readIndex: (entries: readonly DueTenant[]) => readonly DueTenant[];

  /** @param options.readIndex what a read of the due index finds: it may be out of date. */
  constructor(
    options: {
      pageSize?: number;
      itemBytesMax?: number;
      readIndex?: (entries: readonly DueTenant[]) => readonly DueTenant[];
    } = {},
  ) {
    this.#pageSize = options.pageSize ?? 100;
    this.#itemBytesMax = options.itemBytesMax ?? itemBytesMax;
    this.#readIndex = options.readIndex ?? ((entries) => entries);
  }

  async readTenant(tenant: string): Promise<TenantRecord | undefined> {
    return this.#tenants.get(tenant)?.record;
  }

  async createTenant(input: NewTenant): Promise<'created' | 'exists'> {
    if (this.#tenants.has(input.tenant)) return 'exists';
    const storedBytes = input.counted?.storedBytes ?? 0;
    const record: TenantRecord = {
      ...input,
      downloadLimitBytes: null,
      reposMustExist: false,
      committedBytes: storedBytes,
      settingsVersion: 0,
      epoch: 0,
      appliedEpoch: 0,
      floorBaseBytes: storedBytes,
      floorUntilMs: input.counted ? Number.MAX_SAFE_INTEGER : 0,
      deletedBytes: 0,
      notes: new Map(),
      repoLimits: new Map(),
      leaseUntilMs: 0,
      listedUntilMs: 0,
      claimCount: 0,
      deletionCount: 0,
      repoCount: 0,
      overtakenEpoch: 0,
      fullCountedAtMs: 0,
      reservedUntilMs: null,
      lookAtMs: null,
      closedAtMs: null,
    };
    this.#tenants.set(input.tenant, {
      record,
      repos: new Map(),
      reservations: new ReservationItems(),
      pendingDueAtMs: new Map(),
      deletions: new Map(),
      shards: new Map(),
      cleanups: new Map(),
      seen: new Map(),
      gone: new Map(),
    });
    return 'created';
  }

  async updateTenant({ settingsVersion, tenant, ...change }: Input<'updateTenant'>) {
    return this.#changeSettings({ tenant, settingsVersion }, ({ epoch }) => ({
      ...change,
      ...(change.limitBytes !== undefined && { floorUntilMs: 0, leaseUntilMs: 0, epoch: epoch + 1 }),
    }));
  }

  async setRepoLimit({ tenant, settingsVersion, repo, limitBytes }: Input<'setRepoLimit'>) {
    return this.#changeSettings({ tenant, settingsVersion }, ({ epoch, repoLimits }) => {
      const others = [...repoLimits].filter(([name]) => name !== repo);
      const limits =
        limitBytes === null ? others : [...others, [repo, { limitBytes, counted: null }] as const];
      return { repoLimits: new Map(limits), leaseUntilMs: 0, epoch: epoch + 1 };
    });
  }

  #changeSettings(
    { tenant, settingsVersion }: { tenant: string; settingsVersion: number },
    change: (record: TenantRecord) => Partial<TenantRecord>,
  ): SettingsOutcome {
    const now = this.#tenants.get(tenant)?.record;
    if (!now) return { kind: 'absent' };
    if (now.settingsVersion !== settingsVersion) return { kind: 'superseded', tenant: now };
    const changed = this.#update(tenant, (record) => ({
      ...change(record),
      settingsVersion: settingsVersion + 1,
    }));
    return { kind: 'changed', tenant: changed ?? now };
  }

  async addCommitted(input: Input<'addCommitted'>): Promise<AddOutcome> {
    const items = this.#tenants.get(input.tenant);
    if (!items) return { kind: 'absent' };
    const { record } = items;
    const { claimCount = 0, claimsMax = tenantClaimsMax, sumBytes, limitBytes, repo, lateMax } = input;
    const { beforeMax = {} } = input;
    const { tenantBytes = Number.MAX_SAFE_INTEGER, repoBytes = Number.MAX_SAFE_INTEGER } = beforeMax;
    const repoLimit = limitBytes === 'any' ? undefined : record.repoLimits.get(repo.name);
    const isWithinRepo =
      (repoLimit?.limitBytes ?? null) === repo.limitBytes &&
      (!repoLimit ||
        (repoLimit.counted !== null &&
          repoLimit.counted.committedBytes <= Math.min(repoLimit.limitBytes - sumBytes, repoBytes)));
    const isWithinLimit =
      limitBytes === 'any' ||
      (record.limitBytes === limitBytes &&
        record.committedBytes <= Math.min((limitBytes ?? Number.MAX_SAFE_INTEGER) - sumBytes, tenantBytes) &&
        (limitBytes === null || record.counted !== null) &&
        (record.late?.bytes ?? 0) <= (lateMax?.tenantBytes ?? Number.MAX_SAFE_INTEGER) &&
        (repoLimit?.counted?.late?.bytes ?? 0) <= (lateMax?.repoBytes ?? Number.MAX_SAFE_INTEGER) &&
        isWithinRepo);
    const admitted =
      record.closedAtMs === null && isWithinLimit && record.claimCount <= claimsMax - claimCount;
    if (!admitted) return { kind: 'refused', tenant: record };
    items.record = {
      ...record,
      committedBytes: record.committedBytes + sumBytes,
      claimCount: record.claimCount + claimCount,
      ...(repoLimit?.counted && {
        repoLimits: new Map(record.repoLimits).set(repo.name, {
          ...repoLimit,
          counted: {
            ...repoLimit.counted,
            committedBytes: repoLimit.counted.committedBytes + sumBytes,
          },
        }),
      }),
    };
    return { kind: 'added' };
  }

  async putReservation(input: Input<'putReservation'>): Promise<void> {
    const { reservation, dueAtMs } = input;
    const { reservations, pendingDueAtMs } = this.#items(input.tenant);
    const key = keyOf(reservation);
    if (reservations.has(key)) return;
    reservations.set(key, this.#fitting(reservation));
    if (dueAtMs !== undefined) pendingDueAtMs.set(key, dueAtMs);
  }

  async issueReservation(input: Input<'issueReservation'>): Promise<'issued' | 'gone'> {
    const { reservations } = this.#items(input.tenant);
    const found = reservations.get(keyFrom(input));
    if (!found) return 'gone';
    reservations.set(keyOf(found), this.#fitting({ ...found, state: 'issued', claims: input.claims }));
    return 'issued';
  }

  async keepLate(input: Input<'keepLate'>): Promise<'kept' | 'gone'> {
    const { reservations } = this.#items(input.tenant);
    const found = reservations.get(keyFrom(input));
    if (!found) return 'gone';
    reservations.set(
      keyOf(found),
      this.#fitting({ ...found, claims: input.claims, lookAtMs: input.lookAtMs }),
    );
    return 'kept';
  }

  async deleteReservation(input: ReservationKey): Promise<'deleted' | 'absent'> {
    return this.#items(input.tenant).reservations.delete(keyFrom(input)) ? 'deleted' : 'absent';
  }

  async voidReservation(input: ReservationKey): Promise<'gone' | 'issued'> {
    const { reservations } = this.#items(input.tenant);
    if (reservations.get(keyFrom(input))?.state === 'issued') return 'issued';
    reservations.delete(keyFrom(input));
    return 'gone';
  }

  async readReservation(input: ReservationKey) {
    return this.#tenants.get(input.tenant)?.reservations.get(keyFrom(input));
  }

  reservations(tenant: string): AsyncIterable<readonly Reservation[]> {
    return this.#pages(() => this.#tenants.get(tenant)?.reservations);
  }

  reservationsOf(input: Input<'reservationsOf'>): AsyncIterable<readonly Reservation[]> {
    const { tenant, repo, ofUploads } = input;
    const isAsked = ({ id }: Reservation) => !ofUploads || id < onceMoreIdStart;
    return this.#pages(
      () =>
        new Map(
          [...(ofRepo(this.#tenants.get(tenant)?.reservations, repo) ?? [])].filter(([, one]) =>
            isAsked(one),
          ),
        ),
    );
  }

  async listReservations(input: Input<'listReservations'>): Promise<ReservationPage> {
    const { tenant, repo, after, pageSize } = input;
    const all = this.#tenants.get(tenant)?.reservations ?? new Map<string, Reservation>();
    const afterKey = after && keyFrom({ tenant, ...after });
    const left = [...(repo === undefined ? all : ofRepo(all, repo)).entries()]
      .filter(([key]) => afterKey === undefined || key > afterKey)
      .sort(([a], [b]) => (a < b ? -1 : 1));
    const page = left.slice(0, Math.min(pageSize, this.#pageSize)).map(([, reservation]) => reservation);
    const last = left.length > page.length ? page.at(-1) : undefined;
    return { reservations: page, next: last ? { repo: last.repo, reservationId: last.id } : null };
  }

  repos(tenant: string): AsyncIterable<readonly RepoRecord[]> {
    return this.#pages(() => this.#tenants.get(tenant)?.repos);
  }

  async beginReconcile(input: Input<'beginReconcile'>) {
    const items = this.#tenants.get(input.tenant);
    if (!items) return { kind: 'absent' } as const;
    const before = items.record;
    if (before.leaseUntilMs > input.nowMs && items.leaseHolder === input.holder)
      return { kind: 'begun', epoch: before.epoch, before: { ...before, epoch: before.epoch - 1 } } as const;
    if (before.leaseUntilMs > input.nowMs)
      return { kind: 'busy', leaseUntilMs: before.leaseUntilMs } as const;
    const epoch = before.epoch + 1;
    items.leaseHolder = input.holder;
    this.#update(input.tenant, () => ({ epoch, leaseUntilMs: input.leaseUntilMs }));
    return { kind: 'begun', epoch, before } as const;
  }

  async setLease({ tenant, epoch, ...lease }: Input<'setLease'>) {
    if (this.#tenants.get(tenant)?.record.epoch !== epoch) return 'superseded' as const;
    this.#update(tenant, () => lease);
    return 'ours' as const;
  }

  async commitRepo(input: Input<'commitRepo'>) {
    const { repos } = this.#items(input.tenant);
    const found = repos.get(input.repo.repo);
    if (found?.epoch === input.repo.epoch) return 'committed' as const;
    const overtaken =
      (found?.epoch ?? 0) > input.repo.epoch || (found?.dirtyToken ?? null) !== input.dirtyTokenRead;
    // An item that is not there has no epoch.
    const isRemoved = input.epochRead !== undefined && !((found?.epoch ?? -1) >= input.epochRead);
    if (overtaken || isRemoved) return 'superseded' as const;
    const { countPausedAtMs, countCancelledAtMs, createdAtMs, endedClosingMs, watch, endedWatchMs } =
      found ?? {};
    const tidyBelowEpoch = input.repo.tidyBelowEpoch ?? found?.tidyBelowEpoch;
    const kept = {
      closedAtMs: found?.closedAtMs ?? null,
      ...(found?.steeringVersion !== undefined && { steeringVersion: found.steeringVersion }),
      ...(createdAtMs !== undefined && { createdAtMs }),
      ...(endedClosingMs !== undefined && { endedClosingMs }),
      ...(watch && { watch }),
      ...(tidyBelowEpoch !== undefined && { tidyBelowEpoch }),
      ...(endedWatchMs !== undefined && { endedWatchMs }),
      ...(input.repo.giant && countPausedAtMs !== undefined && { countPausedAtMs }),
      ...(input.repo.giant && countCancelledAtMs !== undefined && { countCancelledAtMs }),
    };
    repos.set(input.repo.repo, this.#fitting({ ...input.repo, dirtyToken: null, ...kept }));
    return 'committed' as const;
  }

  async commitTenant(commit: TenantCommit) {
    const items = this.#tenants.get(commit.tenant);
    if (items?.record.appliedEpoch === commit.epoch)
      return { kind: 'committed', tenant: items.record } as const;
    if (!items || items.record.epoch !== commit.epoch) return { kind: 'superseded' } as const;
    // Nothing else makes it longer.
    if (commit.expiredNotes.length + commit.repoLimits.size > 0) checkExpression(tenantChange(commit));
    const expired = new Set(commit.expiredNotes);
    const { late: _, ...record } = items.record;
    items.record = {
      ...record,
      committedBytes: record.committedBytes + commit.correctionBytes,
      appliedEpoch: commit.epoch,
      floorBaseBytes: commit.floorBaseBytes,
      floorUntilMs: commit.floorUntilMs,
      deletedBytes: record.deletedBytes - commit.deletedBytesRead,
      repoLimits: new Map([
        ...record.repoLimits,
        ...[...commit.repoLimits].map(
          ([repo, found]) => [repo, committedLimit(record, repo, found)] as const,
        ),
      ]),
      counted: commit.counted ?? record.counted,
      leaseUntilMs: 0,
      listedUntilMs: commit.listedUntilMs,
      ...(commit.shardsListedUntilMs !== undefined && { shardsListedUntilMs: commit.shardsListedUntilMs }),
      ...(commit.shardLists && { shardLists: commit.shardLists }),
      ...(commit.listedObjectCount !== undefined && { listedObjectCount: commit.listedObjectCount }),
      claimCount: record.claimCount + commit.claimCorrection,
      ...(commit.claimsCounted !== undefined && { claimsCounted: commit.claimsCounted }),
      ...(commit.late && { late: commit.late }),
      overtakenEpoch: commit.overtakenEpoch,
      repoCount: commit.repoCount,
      fullCountedAtMs: commit.fullCountedAtMs ?? record.fullCountedAtMs,
      reservedUntilMs: commit.reservedUntilMs,
      dueAtMs: commit.dueAtMs,
      lookAtMs: commit.lookAtMs,
      notes: new Map([...record.notes].filter(([id]) => !expired.has(id))),
    };
    return { kind: 'committed', tenant: items.record } as const;
  }

  async markDirty(input: Input<'markDirty'>): Promise<'marked' | 'refused'> {
    const found = this.#items(input.tenant).repos.get(input.repo);
    if (found && isChangeUnknown(found) && !isChangeUnknown(input)) return 'refused';
    this.#setRepo(input, { dirtyToken: input.dirtyToken });
    return 'marked';
  }

  async listRepos(input: { tenant: string; after?: string; pageSize: number }) {
    const repos = [...(this.#tenants.get(input.tenant)?.repos.values() ?? [])];
    const { after } = input;
    return repos
      .filter((repo) => after === undefined || repo.repo > after)
      .sort((a, b) => (a.repo < b.repo ? -1 : 1))
      .slice(0, input.pageSize);
  }

  async readRepo(path: { tenant: string; repo: string }) {
    return this.#tenants.get(path.tenant)?.repos.get(path.repo);
  }

  async removeRepo({ tenant, before }: Input<'removeRepo'>): Promise<'removed' | 'refused'> {
    const { repos } = this.#items(tenant);
    const found = repos.get(before.repo);
    const isAsRead =
      found?.epoch === before.epoch &&
      found.tidyBelowEpoch === undefined &&
      found.objectCount === 0 &&
      found.dirtyToken === null &&
      found.createdAtMs === undefined &&
      found.closedAtMs === null &&
      !found.giant &&
      !found.watch &&
      found.endedClosingMs === before.endedClosingMs &&
      found.endedWatchMs === before.endedWatchMs &&
      found.putsUntilMs === before.putsUntilMs;
    // An item that is not there has no epoch.
    if (!isAsRead) return 'refused';
    repos.delete(before.repo);
    return 'removed';
  }

  async createRepo({ createdAtMs, ...path }: Input<'createRepo'>): Promise<'done' | 'closed'> {
    const found = this.#items(path.tenant).repos.get(path.repo);
    if (found && found.closedAtMs !== null) return 'closed';
    this.#setRepo(path, { createdAtMs: found?.createdAtMs ?? createdAtMs });
    return 'done';
  }

  async closeRepo(input: Input<'closeRepo'>): Promise<void> {
    const found = this.#items(input.tenant).repos.get(input.repo);
    if (!input.isForGood && found?.endedClosingMs !== undefined && found.endedClosingMs >= input.closedAtMs)
      return;
    this.#setRepo(input, { closedAtMs: found?.closedAtMs ?? input.closedAtMs });
  }

  async openRepo(input: { tenant: string; repo: string; closedAtMs: number }): Promise<'opened' | 'refused'> {
    const found = this.#items(input.tenant).repos.get(input.repo);
    if (found?.closedAtMs !== input.closedAtMs) return 'refused';
    const { createdAtMs: _, points: _points, ...rest } = found;
    this.#items(input.tenant).repos.set(input.repo, {
      ...rest,
      closedAtMs: null,
      endedClosingMs: input.closedAtMs,
    });
    return 'opened';
  }

  async closeTenant(input: { tenant: string; closedAtMs: number }) {
    const { closedAtMs } = input;
    return this.#update(input.tenant, (record) =>
      record.closedAtMs === null
        ? { closedAtMs, dueAtMs: closedAtMs, lookAtMs: null, epoch: record.epoch + 1, leaseUntilMs: 0 }
        : {},
    );
  }

  async putDeletion(input: { tenant: string; deletion: Deletion }): Promise<void> {
    const { deletions } = this.#items(input.tenant);
    const key = keyOf(input.deletion);
    if (!deletions.has(key)) deletions.set(key, this.#fitting(input.deletion));
  }

  async remark({ tenant, before, deletion }: Input<'remark'>): Promise<'marked' | 'superseded'> {
    const { deletions } = this.#items(tenant);
    const found = deletions.get(keyOf(before));
    if (!found || !isAsRead(found, before))
      return found?.dueAtMs === deletion.dueAtMs ? 'marked' : 'superseded';
    const { state, objects, dueAtMs, afterClosingMs } = deletion;
    const after = afterClosingMs === undefined ? {} : { afterClosingMs };
    const { prefixes: _, ...rest } = found;
    deletions.set(keyOf(found), this.#fitting({ ...rest, state, objects, dueAtMs, ...after }));
    return 'marked';
  }

  deletions(tenant: string): AsyncIterable<readonly Deletion[]> {
    return this.#pages(() => this.#tenants.get(tenant)?.deletions);
  }

  deletionsOf(path: RepoPath): AsyncIterable<readonly Deletion[]> {
    return this.#pages(() => ofRepo(this.#tenants.get(path.tenant)?.deletions, path.repo));
  }

  async deletionsNaming({ tenant, repo, oids }: Input<'deletionsNaming'>): Output<'deletionsNaming'> {
    const asked = new Set(oids);
    const found = [...ofRepo(this.#tenants.get(tenant)?.deletions, repo).values()];
    return found.filter(({ id }) => !id.startsWith(singleIdStart) || asked.has(id.slice(1)));
  }

  async listDeletions(input: Input<'listDeletions'>): Promise<DeletionPage> {
    const { tenant, repo, after, pageSize } = input;
    const all = this.#tenants.get(tenant)?.deletions ?? new Map<string, Deletion>();
    const afterKey = after && keyFrom({ tenant, ...after });
    const left = [...(repo === undefined ? all : ofRepo(all, repo)).entries()]
      .filter(([key]) => afterKey === undefined || key > afterKey)
      .sort(([a], [b]) => (a < b ? -1 : 1));
    const page = left.slice(0, Math.min(pageSize, this.#pageSize)).map(([, deletion]) => deletion);
    const last = left.length > page.length ? page.at(-1) : undefined;
    return { deletions: page, next: last ? { repo: last.repo, deletionId: last.id } : null };
  }

  async unmark(input: Input<'unmark'>): Promise<'unmarked' | 'refused'> {
    checkExpression(unmarkChange(input.names));
    if (input.names.length === 0) return 'unmarked';
    const { deletions } = this.#items(input.tenant);
    const found = deletions.get(keyFrom(input));
    if (found?.state !== 'marked' || found.dueAtMs !== input.dueAtMs) return 'refused';
    const objects = new Map([...found.objects].filter(([name]) => !input.names.includes(name)));
    deletions.set(keyOf(found), { ...found, objects });
    return 'unmarked';
  }

  async claimDeletion(input: Input<'claimDeletion'>) {
    const { deletions } = this.#items(input.tenant);
    const found = deletions.get(keyOf(input.before));
    if (!found || !isAsRead(found, input.before)) return { kind: 'refused' } as const;
    const { deadlineMs, dueAtMs = found.dueAtMs } = input;
    const deletion: Deletion = { ...found, state: 'deleting', deadlineMs, dueAtMs };
    deletions.set(keyOf(found), deletion);
    return { kind: 'claimed', deletion } as const;
  }

  async endDeletion(input: Input<'endDeletion'>): Promise<void> {
    const { deletions } = this.#items(input.tenant);
    const found = deletions.get(keyFrom(input));
    if (found?.state !== 'deleting' || found.deadlineMs !== input.deadlineMs) return;
    const { left, dueAtMs, keptUntilMs, removal, prefixes } = input;
    if (left.size === 0 && keptUntilMs === null && !removal) return void deletions.delete(keyOf(found));
    const keptMs = keptUntilMs ?? 0;
    const named = removal ? oidsOf(removal) : found.objects;
    const kept =
      prefixes === undefined ? { objects: named } : { objects: new Map<string, number>(), prefixes };
    const ended: Pick<Deletion, 'state' | 'objects' | 'dueAtMs' | 'deadlineMs' | 'prefixes'> =
      left.size > 0
        ? { state: 'marked', objects: left, dueAtMs, deadlineMs: found.deadlineMs }
        : { state: 'gone', ...kept, dueAtMs: keptMs, deadlineMs: keptMs };
    deletions.set(keyOf(found), this.#fitting({ ...found, ...ended, ...(removal && { removal }) }));
  }

  async dropRemoval(input: Input<'dropRemoval'>): Promise<void> {
    const { deletions } = this.#items(input.tenant);
    const found = deletions.get(keyFrom(input));
    if (found?.removal?.runMs !== input.runMs) return;
    const { removal: _, ...rest } = found;
    deletions.set(keyOf(found), rest);
  }

  async removeDeletion(input: Input<'removeDeletion'>): Promise<void> {
    const { deletions } = this.#items(input.tenant);
    const found = deletions.get(keyFrom(input));
    const isOver = found?.state === 'gone' && found.deadlineMs === input.deadlineMs;
    if (isOver && !found.removal) deletions.delete(keyFrom(input));
  }

  async countDeletions({ tenant, difference, atMost = 9e15 }: Input<'countDeletions'>) {
    const found = this.#tenants.get(tenant)?.record;
    if (!found || found.deletionCount > atMost - difference) return 'refused' as const;
    this.#update(tenant, ({ deletionCount }) => ({ deletionCount: deletionCount + difference }));
    return 'counted' as const;
  }

  shards(path: RepoPath): AsyncIterable<readonly Shard[]> {
    // They are small: many fit into one answer of the table.
    const pageSize = 50 * this.#pageSize;
    return this.#pages(() => this.#tenants.get(path.tenant)?.shards.get(path.repo), pageSize);
  }

  async beginGiant(input: Input<'beginGiant'>): Promise<'begun' | 'superseded'> {
    const { tenant, repo, epoch } = input;
    const found = this.#items(tenant).repos.get(repo);
    if (found?.giant?.sinceEpoch === epoch) return 'begun';
    if (found?.giant || (found?.epoch ?? -1) >= epoch) return 'superseded';
    this.#setRepo(input, { giant: { sinceEpoch: epoch, recountFromMs: 0, isFirstCount: true } });
    return 'begun';
  }

  async noteProgress(input: Input<'noteProgress'>): Promise<void> {
    const giant = this.#items(input.tenant).repos.get(input.repo)?.giant;
    if (giant?.isFirstCount && giant.sinceEpoch === input.sinceEpoch)
      this.#setRepo(input, { giant: { ...giant, recountFromMs: 0, progress: input.progress } });
  }

  async steerCount(input: Input<'steerCount'>): Promise<'done' | 'refused'> {
    const found = this.#items(input.tenant).repos.get(input.repo);
    if (!found?.giant || (found.steeringVersion ?? 0) !== input.steeringVersion) return 'refused';
    const steeringVersion = input.steeringVersion + 1;
    if ('cancelledAtMs' in input)
      this.#setRepo(input, { countCancelledAtMs: input.cancelledAtMs, steeringVersion });
    else if (input.pausedAtMs !== null)
      this.#setRepo(input, { countPausedAtMs: input.pausedAtMs, steeringVersion });
    else {
      const { countPausedAtMs: _, ...rest } = found;
      this.#items(input.tenant).repos.set(input.repo, { ...rest, steeringVersion });
    }
    return 'done';
  }

  async clearDirty({ tenant, repo, dirtyToken }: Input<'clearDirty'>): Promise<void> {
    const found = this.#items(tenant).repos.get(repo);
    if (found?.dirtyToken === dirtyToken) this.#setRepo({ tenant, repo }, { dirtyToken: null });
  }

  async endTidy({ tenant, repo, tidyBelowEpoch }: Input<'endTidy'>): Promise<void> {
    const { repos } = this.#items(tenant);
    const found = repos.get(repo);
    if (found?.tidyBelowEpoch !== tidyBelowEpoch) return;
    const { tidyBelowEpoch: _, ...rest } = found;
    repos.set(repo, rest);
  }

  async putShard(input: Input<'putShard'>): Promise<'put' | 'superseded'> {
    const { shard, epochRead } = input;
    const shards = this.#shardsOf(input);
    const found = shards.get(shard.prefix);
    if (found?.epoch === shard.epoch) return 'put';
    const isAsRead = epochRead === null ? (found?.epoch ?? 0) < shard.epoch : found?.epoch === epochRead;
    if (!isAsRead) return 'superseded';
    shards.set(shard.prefix, this.#fitting(shard));
    return 'put';
  }

  async removeShard(input: Input<'removeShard'>): Promise<'removed' | 'superseded'> {
    const shards = this.#shardsOf(input);
    if (shards.get(input.prefix)?.epoch !== input.epochRead) return 'superseded';
    shards.delete(input.prefix);
    return 'removed';
  }

  #shardsOf({ tenant, repo }: RepoPath): Map<string, Shard> {
    const { shards } = this.#items(tenant);
    const ofRepo = shards.get(repo) ?? new Map<string, Shard>();
    shards.set(repo, ofRepo);
    return ofRepo;
  }

  async openWatch({ watch, nowMs, ...path }: Input<'openWatch'>): Output<'openWatch'> {
    const found = this.#items(path.tenant).repos.get(path.repo);
    if (found?.watch?.id === watch.id) return { kind: 'open', watch };
    if (found?.watch && found.watch.untilMs >= nowMs) return { kind: 'open', watch: found.watch };
    const lastMs = Math.max(found?.endedWatchMs ?? 0, found?.watch?.openedAtMs ?? 0);
    if (lastMs >= watch.openedAtMs) return { kind: 'refused' };
    this.#setRepo(path, { watch });
    return { kind: 'open', watch };
  }

  async closeWatch({ watch, ...path }: Input<'closeWatch'>): Promise<void> {
    const { repos } = this.#items(path.tenant);
    const found = repos.get(path.repo);
    if (found?.watch?.id !== watch.id) return;
    const { watch: _, ...rest } = found;
    repos.set(path.repo, { ...rest, endedWatchMs: watch.openedAtMs });
  }

  async noteSeen({ tenant, watch, noteId, note }: Input<'noteSeen'>): Promise<void> {
    const { seen } = this.#items(tenant);
    const notes = seen.get(watch.id) ?? new Map<string, SeenNote>();
    seen.set(watch.id, notes);
    notes.set(`${String(note.beganMs).padStart(16, '0')}#${noteId}`, this.#fitting(note));
  }

  async *seen({ tenant, watchId, fromMs }: Input<'seen'>): AsyncIterable<readonly SeenNote[]> {
    const pages = this.#pages(() => this.#tenants.get(tenant)?.seen.get(watchId));
    for await (const page of pages) yield page.filter(({ beganMs }) => beganMs >= fromMs);
  }

  async readCleanup({ tenant, repo }: RepoPath): Promise<Cleanup | undefined> {
    return this.#tenants.get(tenant)?.cleanups.get(repo)?.cleanup;
  }

  async putCleanup(input: Input<'putCleanup'>): Output<'putCleanup'> {
    const { tenant, cleanup, versionRead, writeId } = input;
    const { cleanups } = this.#items(tenant);
    const found = cleanups.get(cleanup.repo);
    if ((found?.cleanup.version ?? null) !== versionRead)
      return found?.writeId === writeId ? found.cleanup : undefined;
    const put = this.#fitting({ ...cleanup, version: (versionRead ?? 0) + 1 });
    cleanups.set(cleanup.repo, { cleanup: put, writeId });
    return put;
  }

  async noteGone({ tenant, repo, oids, atMs }: Input<'noteGone'>): Promise<void> {
    const { gone } = this.#items(tenant);
    for (const oid of oids) gone.set(`${repo}/${oid}`, atMs);
  }

  async forgetGone({ tenant, repo, oid }: Input<'forgetGone'>): Promise<void> {
    this.#tenants.get(tenant)?.gone.delete(`${repo}/${oid}`);
  }

  async goneOf({ tenant, repo, oids }: Input<'goneOf'>): Output<'goneOf'> {
    const gone = this.#tenants.get(tenant)?.gone;
    return new Map(
      oids.flatMap((oid) => {
        const atMs = gone?.get(`${repo}/${oid}`);
        return atMs === undefined ? [] : [[oid, atMs] as const];
      }),
    );
  }

  async announceDelete(input: Input<'announceDelete'>): Promise<void> {
    this.#update(input.tenant, ({ deletedBytes, notes, claimCount }) =>
      notes.has(input.noteId)
        ? {}
        : {
            deletedBytes: deletedBytes + input.note.bytes,
            notes: new Map([...notes, [input.noteId, input.note]]),
            claimCount: claimCount + (input.claimCount ?? 0),
          },
    );
  }

  async removeNote(input: { tenant: string; noteId: string }): Promise<void> {
    this.#update(input.tenant, ({ notes }) => ({
      notes: new Map([...notes].filter(([id]) => id !== input.noteId)),
    }));
  }

  async listTenants(input: { after?: string; pageSize: number }) {
    const names = [...this.#tenants.keys()].sort().filter((name) => name > (input.after ?? ''));
    return names.slice(0, input.pageSize).map((name) => this.#items(name).record);
  }

  async dueTenants(input: Input<'dueTenants'>) {
    const { afterMs = -1, untilMs } = input;
    const due = this.#readIndex(this.dueEntries()).filter(
      ({ dueAtMs }) => afterMs < dueAtMs && dueAtMs <= untilMs,
    );
    return longestDue(due, { ...input, readUntilMs: untilMs });
  }

  async readRefreshState(): Promise<RefreshState | undefined> {
    return this.#refreshState;
  }

  async putRefreshState(state: RefreshState): Promise<void> {
    this.#refreshState = state;
  }

  /** All that the index of what is due holds. */
  dueEntries(): DueTenant[] {
    return [...this.#tenants].flatMap(([tenant, items]) => {
      const looks = [...items.reservations].map(([key, { state, lookAtMs, deadAtMs }]) => {
        const pendingDueAtMs = state === 'pending' ? items.pendingDueAtMs.get(key) : undefined;
        return pendingDueAtMs ?? lookAtMs ?? deadAtMs;
      });
      const deletions = [...items.deletions.values()].map((deletion) => deletion.dueAtMs);
      const cleanups = [...items.cleanups.values()].flatMap(({ cleanup }) => cleanup.dueAtMs ?? []);
      const closings = [...items.repos.values()].flatMap(({ closedAtMs }) => closedAtMs ?? []);
      const entry = (deletes: boolean) => (dueAtMs: number) => ({ tenant, full: false, deletes, dueAtMs });
      const others = [
        ...looks.map(entry(false)),
        ...[...deletions, ...cleanups, ...closings].map(entry(true)),
      ];
      const { dueAtMs, lookAtMs } = items.record;
      const full = lookAtMs === null || dueAtMs <= lookAtMs;
      return [{ tenant, full, deletes: false, dueAtMs: full ? dueAtMs : lookAtMs }, ...others];
    });
  }

  /**
   * A tenant's item and all its reservations at one moment, for a simulator's checks. As long as nothing changes, it is the
   * same object, and the same array.
   */
  inspect(tenant: string): { record: TenantRecord | undefined; reservations: readonly Reservation[] } {
    const items = this.#tenants.get(tenant);
    return { record: items?.record, reservations: items?.reservations.all ?? none };
  }

  /** Adds to the counter without a condition. This is a mistake that the simulator must find. */
  addUnconditionally(tenant: string, bytes: number): void {
    this.#update(tenant, (record) => ({ committedBytes: record.committedBytes + bytes }));
  }

  #fitting<T extends object>(record: T): T {
    return fitting(record, this.#itemBytesMax);
  }

  #items(tenant: string): TenantItems {
    const items = this.#tenants.get(tenant);
    if (!items) throw new Error(`The tenant ${tenant} does not exist.`);
    return items;
  }

  #setRepo(path: { tenant: string; repo: string }, change: Partial<RepoRecord>): void {
    const { repos } = this.#items(path.tenant);
    const counted = { storedBytes: 0, objectCount: 0, countedAtMs: 0 };
    const unscanned = { ...counted, epoch: 0, covered: new Set<string>(), putsUntilMs: 0 };
    const none = { ...unscanned, dirtyToken: null, closedAtMs: null };
    repos.set(path.repo, this.#fitting({ ...none, ...repos.get(path.repo), repo: path.repo, ...change }));
  }

  #update(tenant: string, change: (record: TenantRecord) => Partial<TenantRecord>): TenantRecord | undefined {
    const items = this.#tenants.get(tenant);
    if (!items) return undefined;
    items.record = this.#fitting({ ...items.record, ...change(items.record) });
    return items.record;
  }

  /** Pages by key as the table does: each page is read when it is requested, and begins after the last key before. */
  async *#pages<T>(
    read: () => ReadonlyMap<string, T> | undefined,
    pageSize = this.#pageSize,
  ): AsyncIterable<readonly T[]> {
    let after: string | undefined;
    for (;;) {
      const entries = [...(read() ?? new Map<string, T>())].sort(([a], [b]) => (a < b ? -1 : 1));
      const page = entries.filter(([key]) => after === undefined || key > after).slice(0, pageSize);
      yield page.map(([, value]) => value);
      if (page.length < pageSize) return;
      after = page.at(-1)?.[0];
    }
  }
}

const none: readonly Reservation[] = [];

/** Key → reservation. */
class ReservationItems extends Map<string, Reservation> {
  #all: readonly Reservation[] | undefined;

  override set(key: string, reservation: Reservation): this {
    this.#all = undefined;
    return super.set(key, reservation);
  }

  override delete(key: string): boolean {
    this.#all = undefined;
    return super.delete(key);
  }

  /** All of them. The array is the same until one changes. */
  get all(): readonly Reservation[] {
    this.#all ??= [...this.values()];
    return this.#all;
  }
}

/** The key of a reservation or of a deletion: those of a repo lie together, as in the table. */
function keyOf(item: { repo: string; id: string }): string {
  return `${item.repo}#${item.id}`;
}

function isAsRead(found: Deletion, before: Deletion): boolean {
  const { state, deadlineMs, dueAtMs } = before;
  return found.state === state && found.deadlineMs === deadlineMs && found.dueAtMs === dueAtMs;
}

function keyFrom(key: ReservationKey | DeletionKey): string {
  return keyOf({ repo: key.repo, id: 'reservationId' in key ? key.reservationId : key.deletionId });
}

function ofRepo<T extends { repo: string }>(
  items: ReadonlyMap<string, T> | undefined,
  repo: string,
): ReadonlyMap<string, T> {
  return new Map([...(items ?? [])].filter(([, item]) => item.repo === repo));
}

function committedLimit(
  { repoLimits }: TenantRecord,
  repo: string,
  { limitBytes, correctionBytes, ...found }: LimitCommit,
): RepoLimit {
  const committedBytes = (repoLimits.get(repo)?.counted?.committedBytes ?? 0) + correctionBytes;
  return { limitBytes, counted: { ...found, committedBytes } };
}
