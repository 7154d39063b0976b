import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import type { RepoPath, RepoRecord, TenantRecord } from '../../core/ledger/rules/tenant.ts';
import { formatBytes } from '../../core/rules/sizes.ts';
import type { FilePorts } from '../../core/store/rules/file-ports.ts';
import { findRepo } from '../../frame/access/repos.ts';
import { isInForce } from '../../frame/access/rules/repo-mark.ts';
import { json, type Refusal } from '../../frame/api/http.ts';
import { problem, repoNotFound } from '../../frame/api/problems.ts';
import { iso, pageSizeDefault } from '../../frame/contract/fields.ts';
import { isManager, seenRepo } from '../../frame/management/access.ts';
import { operationsFor } from '../../frame/management/operations.ts';
import { nameContract, nameCursor } from './contract.ts';
import { nowOf, type SignDeps, searchFile, signNames } from './names.ts';
import type { NamePorts } from './ports.ts';
import { type NamesMark, namedReposMax, namesOfTenantBytesMax } from './rules/mark.ts';

type Needs = SignDeps & Pick<CoreDeps, 'store'> & { readonly archives: Pick<FilePorts['archives'], 'get'> };

export const nameOperations = operationsFor<Needs>()(nameContract, {
  'GET /v1/tenants/{tenant}/repos/{repo}/names': async (deps, { tenant, event, query, ...reader }) => {
    const { path, mark, record, refusal } = await findNames(deps, {
      tenant,
      repo: seenRepo(reader, event),
    });
    if (refusal) return refusal;
    if (!mark.forReaders && !isManager(reader))
      return problem('scope-too-small', 'This requires the admin token, or one with the manage scope.');
    const { search = '', inUse, sort = 'size', limit = pageSizeDefault, cursor } = query;
    const asked = { text: search, isInUse: inUse, order: sort, after: cursor, countMax: limit };
    const page = await searchFile(deps, { path, sha256: mark.sha256, search: asked });
    if (page === 'absent') return noNames(path);
    if (page === 'unreadable') return noNames(path, "can't be read");
    const { head, sum, next } = page;
    return json(200, {
      names: await nowOf(deps, { path, record, names: page.names }),
      sum,
      madeAt: iso(head.madeAtMs),
      branch: head.branch ?? null,
      commit: head.commit ?? null,
      nextCursor: next && nameCursor.encode(next),
    });
  },

  'POST /v1/tenants/{tenant}/repos/{repo}/names': async (deps, { tenant: own, body, event, ...reader }) => {
    const { tenant } = own;
    const repo = seenRepo(reader, event);
    const outcome =
      repo === undefined
        ? ({ kind: 'no-repo' } as const)
        : await signNames(deps, { tenant: own, repo, ...body, nowMs: deps.clock.nowMs() });
    switch (outcome.kind) {
      case 'signed':
        return json(200, { url: outcome.put.href, headers: outcome.put.header });
      case 'no-repo':
        return repoNotFound(tenant);
      case 'wrong-kind':
        return problem('wrong-kind', outcome.detail);
      case 'full':
        return problem(
          'names-full',
          `Up to ${namedReposMax.toLocaleString('en-US')} repos of ${tenant} can have names, of ${formatBytes(namesOfTenantBytesMax)} together.`,
        );
    }
  },

  'PATCH /v1/tenants/{tenant}/repos/{repo}/names': async (
    deps,
    { tenant, body: { forReaders }, event, trail, ...reader },
  ) => {
    const { path, mark, refusal } = await findNames(deps, { tenant, repo: seenRepo(reader, event) });
    if (refusal) return refusal;
    trail.was({ forReaders: mark.forReaders ?? false });
    trail.became({ forReaders });
    const changed = await deps.names.change(path, (found) => {
      if (!found) return undefined;
      const { forReaders: _, ...others } = found;
      return { ...others, ...(forReaders && { forReaders }) };
    });
    return changed ? json(200, namesBody(changed)) : noNames(path);
  },
});

type Found =
  | {
      readonly path: RepoPath;
      readonly mark: NamesMark;
      readonly record: RepoRecord;
      readonly refusal?: never;
    }
  | ({ readonly [K in 'path' | 'mark' | 'record']?: never } & { readonly refusal: Refusal });

/** @param repo undefined: this reader may know of none. @throws {StoreUnavailableError | LedgerUnavailableError} */
async function findNames(
  deps: Parameters<typeof findRepo>[0] & NamePorts,
  { tenant, repo }: { tenant: TenantRecord; repo: string | undefined },
): Promise<Found> {
  const notFound = { refusal: repoNotFound(tenant.tenant) };
  if (repo === undefined) return notFound;
  const path = { tenant: tenant.tenant, repo };
  const [record, mark] = await Promise.all([findRepo(deps, { tenant, repo }), deps.names.find(path)]);
  if (!record || record.closedAtMs !== null) return notFound;
  return mark && isInForce(mark, record) ? { path, mark, record } : { refusal: noNames(path) };
}

const noNames = ({ tenant, repo }: RepoPath, why = "aren't stored") =>
  problem(
    'names-not-found',
    `Names of ${tenant}/${repo} ${why}. Send them from a clone: lfs-quota repo names.`,
  );

const namesBody = ({ forReaders = false, sinceMs }: NamesMark) => ({ forReaders, since: iso(sinceMs) });
