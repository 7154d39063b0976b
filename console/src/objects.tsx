import { useEffect, useState } from 'preact/hooks';
import { formatObjects } from '../../cli/render.ts';
import type { ObjectBody } from '../../lambda/http/management/objects/schemas.ts';
import { askPages } from './api.ts';
import { Card } from './parts.tsx';
import { bytesText } from './text.ts';

const shownMax = 8;
/** So many are looked through without being asked. */
const unaskedMax = 5_000;
/** Pages of 1,000. Beyond that the command line is the better tool. */
const pagesMax = 200;

const largestOf = (objects: readonly ObjectBody[]) =>
  [...objects].sort((a, b) => b.sizeBytes - a.sizeBytes).slice(0, shownMax);

/** What a delete would free most by. The store lists by name, so all have to be looked through. */
export function Objects(props: { tenant: string; objectCount: number; repos: readonly string[] | null }) {
  const { tenant, objectCount, repos } = props;
  const [found, setFound] = useState<readonly ObjectBody[]>();
  const [seen, setSeen] = useState<number>();
  const [hasFailed, setHasFailed] = useState(false);
  const isUnasked = objectCount <= unaskedMax;
  const look = async () => {
    setSeen(0);
    setHasFailed(false);
    const paths = (repos ?? [undefined]).map(
      (repo) =>
        `/v1/tenants/${tenant}/objects${repo === undefined ? '' : `?repo=${encodeURIComponent(repo)}`}`,
    );
    let largest: readonly ObjectBody[] = [];
    for (const path of paths) {
      const objects = await askPages<ObjectBody, 'objects'>(path, 'objects', {
        pagesMax,
        onPage: (items) => setSeen(items.length),
      });
      if (!objects) setHasFailed(true);
      largest = largestOf([...largest, ...(objects ?? [])]);
    }
    setSeen(undefined);
    setFound(largest);
  };
  useEffect(() => {
    if (isUnasked) void look();
  }, [tenant, objectCount, isUnasked]);
  return (
    <Card title="Largest objects" note="what a delete would free" id="largest">
      {found ? (
        <ObjectTable objects={found} hasFailed={hasFailed} />
      ) : (
        <div class="room" style={{ minHeight: `${Math.min(objectCount, shownMax) * 41 + 40}px` }}>
          {seen === undefined && !isUnasked ? (
            <>
              <p class="soft">To find them, all {formatObjects(objectCount)} have to be listed.</p>
              <button type="button" onClick={() => void look()}>
                Look for them
              </button>
            </>
          ) : (
            <p class="soft" role="status">
              Looking{seen ? `: ${formatObjects(seen)} so far` : '…'}
            </p>
          )}
        </div>
      )}
    </Card>
  );
}

function ObjectTable({ objects, hasFailed }: { objects: readonly ObjectBody[]; hasFailed: boolean }) {
  if (objects.length === 0)
    return <p class="soft">{hasFailed ? 'They could not be listed now.' : 'There are none.'}</p>;
  return (
    <>
      <table>
        <thead>
          <tr>
            <th scope="col">Object</th>
            <th scope="col">Repo</th>
            <th scope="col" class="right">
              Size
            </th>
          </tr>
        </thead>
        <tbody>
          {objects.map(({ repo, oid, sizeBytes }) => (
            <tr key={`${repo}/${oid}`}>
              <th scope="row">
                <code title={oid}>{oid.slice(0, 12)}…</code>
              </th>
              <td class="soft cut">{repo}</td>
              <td class="right strong">{bytesText(sizeBytes)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {hasFailed && <p class="soft">Not all could be listed.</p>}
    </>
  );
}
