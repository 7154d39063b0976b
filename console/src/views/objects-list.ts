import { useEffect, useRef, useState } from 'preact/hooks';
import type { DeletionBody } from '../../../lambda/api/contract/deletes.ts';
import type { ObjectBody } from '../../../lambda/api/contract/objects.ts';
import { askPages } from '../api.ts';

/** So many are looked through without being asked. */
const unaskedMax = 5_000;
/** Pages of 1,000. Beyond that the command line is the better tool. */
const pagesMax = 200;

export interface Found<Item> {
  readonly items: readonly Item[];
  readonly isCut: boolean;
  readonly hasFailed: boolean;
}

export interface Where {
  readonly tenant: string;
  readonly objectCount: number;
  /** Another one after each count: what was marked may have been pushed again, or be gone. */
  readonly scannedAt: string;
  /** Those that the token is for. null: all. */
  readonly repos: readonly string[] | null;
}

/** Of each repo that may be asked for. */
async function listEach<Item, Key extends string>(
  { tenant, repos }: Where,
  key: Key,
  onSeen?: (count: number) => void,
): Promise<Found<Item>> {
  const items: Item[] = [];
  let [isCut, hasFailed] = [false, false];
  for (const repo of repos ?? [undefined]) {
    const query = repo === undefined ? '' : `?repo=${encodeURIComponent(repo)}`;
    const listed = await askPages<Item, Key>(`/v1/tenants/${tenant}/${key}${query}`, key, {
      pagesMax,
      onPage: (more) => onSeen?.(items.length + more.length),
    });
    if (listed) items.push(...listed.items);
    isCut ||= listed?.isCut ?? false;
    hasFailed ||= !listed;
  }
  return { items, isCut, hasFailed };
}

/** All objects, as the store lists them: by name, so the largest and the oldest are known when all have been seen. */
export function useObjects(where: Where) {
  const { tenant, objectCount } = where;
  const [found, setFound] = useState<Found<ObjectBody>>();
  const [seen, setSeen] = useState<number>();
  const run = useRef(0);
  const isUnasked = objectCount <= unaskedMax;
  const look = async () => {
    run.current += 1;
    const own = run.current;
    const isLast = () => run.current === own;
    setSeen(0);
    const listed = await listEach<ObjectBody, 'objects'>(
      where,
      'objects',
      (count) => isLast() && setSeen(count),
    );
    // It was asked anew meanwhile.
    if (!isLast()) return;
    setSeen(undefined);
    setFound(listed);
  };
  useEffect(() => {
    if (isUnasked) void look();
  }, [tenant, where.repos?.join(), objectCount, isUnasked]);
  return { found, seen, isUnasked, look: () => void look() };
}

/** Those that are to go, whoever has asked for it. */
export function useMarked(where: Where) {
  const [marked, setMarked] = useState<Found<DeletionBody>>({ items: [], isCut: false, hasFailed: false });
  const run = useRef(0);
  useEffect(() => {
    run.current += 1;
    const own = run.current;
    void listEach<DeletionBody, 'deletions'>(where, 'deletions').then((listed) => {
      if (run.current === own) setMarked(listed);
    });
  }, [where.tenant, where.repos?.join(), where.scannedAt]);
  const add = (deletions: readonly DeletionBody[]) => {
    run.current += 1;
    setMarked({ ...marked, items: [...marked.items, ...deletions] });
  };
  return { marked, add };
}
