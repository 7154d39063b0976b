import { useState } from 'preact/hooks';
import type { AnswerTo } from '../../../cli/routes.ts';
import { type Asked, askPages, type ItemOf } from '../api.ts';
import { useAnswer } from '../requests.ts';

/** So many are looked through without being asked. */
const unaskedMax = 5_000;
/** Pages of 1,000. Beyond that the command line is the better tool. */
const pagesMax = 200;

export interface Where {
  readonly tenant: string;
  readonly objectCount: number;
  /** Another one after each count: what was marked may have been pushed again, or be gone. */
  readonly scannedAt: string;
  /** Those that the token is for. null: all. */
  readonly repos: readonly string[] | null;
}

type ListRoute = 'GET /v1/tenants/{tenant}/objects' | 'GET /v1/tenants/{tenant}/deletions';

/** Of each repo that may be asked for. What fails isn't asked for again by itself: it may be a lot. */
async function listEach<R extends ListRoute, Name extends keyof AnswerTo<R>>(
  { tenant, repos }: Where,
  route: R,
  name: Name,
  onSeen?: (count: number) => void,
) {
  const items: ItemOf<R, Name>[] = [];
  let [isCut, hasFailed] = [false, false];
  for (const repo of repos ?? [undefined]) {
    const asked: Asked<ListRoute> = { tenant, query: { repo } };
    const outcome = await askPages(route, name, {
      ...(asked as unknown as Asked<R>),
      pagesMax,
      onPage: (more) => onSeen?.(items.length + more.length),
    });
    if (outcome.kind === 'ok') items.push(...outcome.body.items);
    isCut ||= outcome.kind === 'ok' && outcome.body.isCut;
    hasFailed ||= outcome.kind !== 'ok';
  }
  return { kind: 'ok', body: { items, isCut, hasFailed } } as const;
}

const none = { items: [], isCut: false, hasFailed: false };

const keyOf = ({ tenant, repos }: Where) => `${tenant} ${repos?.join()}`;

/** All objects, as the store lists them: by name, so the largest and the oldest are known when all have been seen. */
export function useObjects(where: Where) {
  const [isAsked, setIsAsked] = useState(false);
  const [seen, setSeen] = useState(0);
  const isWanted = isAsked || where.objectCount <= unaskedMax;
  const get = () => listEach(where, 'GET /v1/tenants/{tenant}/objects', 'objects', setSeen);
  const what = isWanted ? keyOf(where) : undefined;
  const { body: found } = useAnswer(what, get, { key: String(where.objectCount), isAside: true });
  return { found, seen, isWanted, look: () => setIsAsked(true) };
}

/** Those that are to go, whoever has asked for it. */
export function useMarked(where: Where) {
  const get = () => listEach(where, 'GET /v1/tenants/{tenant}/deletions', 'deletions');
  const { body, read } = useAnswer(keyOf(where), get, { key: where.scannedAt, isAside: true });
  return { marked: body ?? none, readMarked: read };
}
