import { useEffect, useRef, useState } from 'preact/hooks';
import { formatAge, formatObjects } from '../../cli/render.ts';
import type { ObjectBody } from '../../lambda/http/management/objects/schemas.ts';
import { askPages } from './api.ts';
import { Choice } from './choice.tsx';
import { CsvButton } from './csv-button.tsx';
import { type ObjectOrder, objectKeyOf, sortObjects } from './object-order.ts';
import { ObjectRow } from './object-row.tsx';
import { Card, Cut } from './parts.tsx';

const shownMax = 8;
/** So many are looked through without being asked. */
const unaskedMax = 5_000;
/** Pages of 1,000. Beyond that the command line is the better tool. */
const pagesMax = 200;

interface Found {
  readonly objects: readonly ObjectBody[];
  readonly isCut: boolean;
  readonly hasFailed: boolean;
}

interface Where {
  readonly tenant: string;
  readonly objectCount: number;
  /** Those that the token is for. null: all. */
  readonly repos: readonly string[] | null;
}

/** All objects, as the store lists them: by name, so the largest and the oldest are known when all have been seen. */
function useObjects({ tenant, objectCount, repos }: Where) {
  const [found, setFound] = useState<Found>();
  const [seen, setSeen] = useState<number>();
  const run = useRef(0);
  const isUnasked = objectCount <= unaskedMax;
  const look = async () => {
    run.current += 1;
    const own = run.current;
    setSeen(0);
    const objects: ObjectBody[] = [];
    let [isCut, hasFailed] = [false, false];
    for (const repo of repos ?? [undefined]) {
      const query = repo === undefined ? '' : `?repo=${encodeURIComponent(repo)}`;
      const listed = await askPages<ObjectBody, 'objects'>(
        `/v1/tenants/${tenant}/objects${query}`,
        'objects',
        {
          pagesMax,
          onPage: (items) => setSeen(objects.length + items.length),
        },
      );
      // It was asked anew meanwhile.
      if (run.current !== own) return;
      if (listed) objects.push(...listed.items);
      isCut ||= listed?.isCut ?? false;
      hasFailed ||= !listed;
    }
    setSeen(undefined);
    setFound({ objects, isCut, hasFailed });
  };
  useEffect(() => {
    if (isUnasked) void look();
  }, [tenant, objectCount, isUnasked]);
  return { found, seen, isUnasked, look: () => void look() };
}

/** What a delete would free most by, and what has lain longest. */
export function Objects(props: Where & { mayDelete: boolean; nowMs: number }) {
  const { tenant, objectCount, mayDelete, nowMs } = props;
  const { found, seen, isUnasked, look } = useObjects(props);
  const [by, setBy] = useState<ObjectOrder>('largest');
  return (
    <Card
      title="Objects"
      id="largest"
      action={
        found && (
          <>
            <Choice
              name="objects"
              label="Which objects"
              values={['largest', 'oldest'] as const}
              textOf={(each) => (each === 'largest' ? 'Largest' : 'Oldest')}
              value={by}
              onChoose={setBy}
            />
            <CsvButton
              name="objects"
              tenant={tenant}
              rows={sortObjects(found.objects, by)}
              fields={['repo', 'oid', 'sizeBytes', 'storedAt']}
            />
          </>
        )
      }
    >
      {found ? (
        <ObjectTable tenant={tenant} found={found} by={by} mayDelete={mayDelete} nowMs={nowMs} />
      ) : (
        <div class="room" style={{ minHeight: `${Math.min(objectCount, shownMax) * 57 + 40}px` }}>
          {seen === undefined && !isUnasked ? (
            <>
              <p class="soft">
                To find the largest and the oldest, all {formatObjects(objectCount)} have to be listed.
              </p>
              <button type="button" onClick={look}>
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

function ObjectTable(props: {
  tenant: string;
  found: Found;
  by: ObjectOrder;
  mayDelete: boolean;
  nowMs: number;
}) {
  const { tenant, found, by, mayDelete, nowMs } = props;
  const { objects, isCut, hasFailed } = found;
  if (objects.length === 0)
    return <p class="soft">{hasFailed ? 'They could not be listed now.' : 'There are none.'}</p>;
  return (
    <>
      <table>
        <thead>
          <tr>
            <th scope="col">Object</th>
            <th scope="col" class="right">
              {mayDelete ? 'Frees' : 'Size'}
            </th>
            {mayDelete && (
              <th scope="col">
                <span class="hidden">Delete</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {sortObjects(objects, by)
            .slice(0, shownMax)
            .map((object) => (
              <ObjectRow
                key={objectKeyOf(object)}
                tenant={tenant}
                object={object}
                mayDelete={mayDelete}
                age={object.storedAt === null ? '' : formatAge(object.storedAt, nowMs)}
                nowMs={nowMs}
              />
            ))}
        </tbody>
      </table>
      {hasFailed && <p class="soft">Not all could be listed.</p>}
      <Cut isCut={isCut} count={objects.length} />
    </>
  );
}
