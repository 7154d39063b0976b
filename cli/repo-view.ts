import { formatBytes } from '../lambda/domain/bytes.ts';
import type { RepoBody } from './api-schemas.ts';
import { formatAge, formatCount, renderTable } from './render.ts';

/** A table of repos, the largest first. */
export function renderRepos(repos: readonly RepoBody[], nowMs: number): string {
  const rows = [...repos]
    .sort((a, b) => (b.storedBytes ?? 0) - (a.storedBytes ?? 0))
    .map((body) => [
      nameOf(body),
      body.storedBytes === null ? '-' : formatBytes(body.storedBytes),
      body.objectCount === null ? '-' : formatCount(body.objectCount),
      body.countedAt === null ? 'never' : formatAge(body.countedAt, nowMs),
    ]);
  return renderTable(['repo', 'stored', 'objects', 'counted'], rows, { right: [1, 2] });
}

function nameOf({ repo, deleting }: RepoBody): string {
  // Keys that lie directly below the tenant belong to no repo.
  const name = repo === '' ? '(no repo)' : repo;
  return deleting ? `${name} (being deleted)` : name;
}
