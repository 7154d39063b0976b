import { useState } from 'preact/hooks';
import type { DeletionBody } from '../../../lambda/api/contract/deletes.ts';
import type { ObjectBody } from '../../../lambda/api/contract/objects.ts';
import { askPages, type Listed } from '../api.ts';
import { useRead } from '../requests.ts';

/** So many are looked through without being asked. */
const unaskedMax = 5_000;
/** Pages of 1,000. Beyond that the command line is the better tool. */
const pagesMax = 200;

interface Found<Item> extends Listed<Item> {
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

/** Of each repo that may be asked for. What fails isn't asked for again by itself: it may be a lot. */
async function listEach<Item>(
  { tenant, repos }: Where,
  name: string,
  onSeen?: (count: number) => void,
): Promise<{ kind: 'ok'; body: Found<Item> }> {
  const items: Item[] = [];
  let [isCut, hasFailed] = [false, false];
  for (const repo of repos ?? [undefined]) {
    const query = repo === undefined ? '' : `?repo=${encodeURIComponent(repo)}`;
    const outcome = await askPages<Item>(`/v1/tenants/${tenant}/${name}${query}`, name, {
      pagesMax,
      onPage: (more) => onSeen?.(items.length + more.length),
    });
    if (outcome.kind === 'ok') items.push(...outcome.body.items);
    isCut ||= outcome.kind === 'ok' && outcome.body.isCut;
    hasFailed ||= outcome.kind !== 'ok';
  }
  return { kind: 'ok', body: { items, isCut, hasFailed } };
}

const none: Found<DeletionBody> = { items: [], isCut: false, hasFailed: false };

const keyOf = ({ tenant, repos }: Where) => `${tenant} ${repos?.join()}`;

/** All objects, as the store lists them: by name, so the largest and the oldest are known when all have been seen. */
export function useObjects(where: Where) {
  const [isAsked, setIsAsked] = useState(false);
  const [seen, setSeen] = useState(0);
  const isWanted = isAsked || where.objectCount <= unaskedMax;
  const { body: found } = useRead(isWanted ? keyOf(where) : undefined, {
    key: String(where.objectCount),
    get: () => listEach<ObjectBody>(where, 'objects', setSeen),
  });
  return { found, seen, isWanted, look: () => setIsAsked(true) };
}

/** Those that are to go, whoever has asked for it. */
export function useMarked(where: Where) {
  const get = () => listEach<DeletionBody>(where, 'deletions');
  const { body, read } = useRead(keyOf(where), { key: where.scannedAt, get });
  return { marked: body ?? none, readMarked: read };
}
