import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { isVoid } from '../../core/ledger/rules/deletion.ts';
import { lapsedAtMs } from '../../core/ledger/rules/reservation.ts';
import type { RepoPath, RepoRecord, TenantRecord } from '../../core/ledger/rules/tenant.ts';
import { mapLimited } from '../../core/rules/async.ts';
import { objectKey } from '../../core/rules/names.ts';
import type { SignedRequest } from '../../core/store/rules/store.ts';
import { findRepo } from '../../frame/access/repos.ts';
import { wrongKind } from '../../frame/access/rules/kinds.ts';
import { isInForce } from '../../frame/access/rules/repo-mark.ts';
import { iso } from '../../frame/contract/fields.ts';
import type { NamePageBody } from './contract.ts';
import type { NamePorts } from './ports.ts';
import { namedReposMax, namesKey, namesOfTenantBytesMax } from './rules/mark.ts';
import type { NamedObject } from './rules/names-file.ts';

export type SignDeps = Pick<CoreDeps, 'ledger' | 'listing' | 'signer' | 'settings'> & NamePorts;

type Signed =
  | { readonly kind: 'signed'; readonly put: SignedRequest }
  | { readonly kind: 'no-repo' }
  | { readonly kind: 'wrong-kind'; readonly detail: string }
  /** Too many repos of the tenant have names, or too large ones. */
  | { readonly kind: 'full' };

/**
 * A URL to send a file of names to. From now on it's the repo's, and the one before isn't.
 *
 * @param input.nowMs before the repo is read: a delete that closes it from then on ends this, too.
 * @throws {StoreUnavailableError | LedgerUnavailableError}
 */
export async function signNames(
  deps: SignDeps,
  input: { tenant: TenantRecord; repo: string; bytes: number; sha256: string; nowMs: number },
): Promise<Signed> {
  const { names, signer, settings } = deps;
  const { repo, bytes, sha256, nowMs } = input;
  const { tenant } = input.tenant;
  const path = { tenant, repo };
  const record = await findRepo(deps, input);
  if (!record || record.closedAtMs !== null) return { kind: 'no-repo' };
  const detail = wrongKind(record, { ...path, needed: 'lfs' });
  if (detail !== undefined) return { kind: 'wrong-kind', detail };
  const all = await names.list(tenant);
  const own = all.find((each) => each.repo === repo);
  const sum = all.reduce((total, each) => total + each.bytes, Math.max(0, bytes - (own?.bytes ?? 0)));
  if (sum > namesOfTenantBytesMax || (!own && all.length >= namedReposMax)) return { kind: 'full' };
  const lifetimeMs = settings.urlLifetimeMs;
  const entries = new Map([[sha256, bytes]]);
  const untilMs = lapsedAtMs(settings, { expiresAtMs: nowMs + lifetimeMs, entries });
  await names.change(path, (found) => {
    const isReadable = found && isInForce(found, record) && found.forReaders;
    return {
      sinceMs: nowMs,
      bytes: Math.max(found?.bytes ?? 0, bytes),
      sha256,
      untilMs: Math.max(found?.untilMs ?? 0, untilMs),
      ...(isReadable && { forReaders: true }),
    };
  });
  const put = { key: namesKey(path), oid: sha256, sizeBytes: bytes, signedAtMs: nowMs, lifetimeMs };
  return { kind: 'signed', put: await signer.signUpload(put) };
}

const lastTurns = new WeakMap<object, Promise<unknown>>();

/** Runs it once all before it have ended. A search holds a file of 64 MiB, and one process may be asked for many at a time. */
export function inTurn<T>(owner: object, run: () => Promise<T>): Promise<T> {
  const turn = (lastTurns.get(owner) ?? Promise.resolve()).then(run);
  lastTurns.set(
    owner,
    turn.catch(() => undefined),
  );
  return turn;
}

/** How objects are now: a page of them, by a HEAD each. @throws {StoreUnavailableError | LedgerUnavailableError} */
export async function nowOf(
  { store, ledger, settings, clock }: Pick<CoreDeps, 'store' | 'ledger' | 'settings' | 'clock'>,
  input: { path: RepoPath; record: RepoRecord; names: readonly NamedObject[] },
): Promise<NamePageBody['names']> {
  const { path: of, record, names } = input;
  const oids = names.map(({ oid }) => oid);
  const nowMs = clock.nowMs();
  const [heads, deletions] = await Promise.all([
    mapLimited(oids, settings.scanConcurrency, (oid) => store.head(objectKey({ ...of, oid }))),
    ledger.deletionsNaming({ ...of, oids }),
  ]);
  return names.map(({ oid, sizeBytes, path, ref, commit, committedMs }, index) => {
    const going = deletions.find(
      (each) =>
        each.state !== 'deleted' && each.objects.has(oid) && !isVoid(settings, each, { repo: record, nowMs }),
    );
    const named = {
      oid,
      sizeBytes,
      path,
      inUseBy: ref,
      commit,
      committedAt: committedMs === null ? null : iso(committedMs),
    };
    if (!heads[index]) return { ...named, state: 'gone' };
    if (!going) return { ...named, state: 'stored' };
    const { state, dueAtMs } = going;
    return { ...named, state: state === 'scheduled' ? 'scheduled' : 'deleting', dueAt: iso(dueAtMs) };
  });
}
