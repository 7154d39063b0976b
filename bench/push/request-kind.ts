/** One request as a door saw it pass, and its answer. */
export interface SeenRequest {
  readonly method: string;
  /** Path and query, as sent. */
  readonly target: string;
  readonly status: number;
}

/** Requests to an API. `transfer` moves the bytes of an object: only servers without signed URLs have it. */
export const apiKinds = ['batch', 'unauthorized', 'verify', 'locks', 'transfer', 'other'] as const;
/** Requests to a store. Those by signed URLs are the client's; the others are the server's own. */
export const storeKinds = [
  'clientPut',
  'clientGet',
  'serverHead',
  'serverList',
  'serverPut',
  'serverGet',
  'serverDelete',
] as const;

export type ApiKind = (typeof apiKinds)[number];
export type StoreKind = (typeof storeKinds)[number];

export function apiKindOf({ method, target, status }: SeenRequest): ApiKind {
  const path = pathOf(target);
  // The first request of a client has no credentials yet. It is sent again with them.
  if (status === 401) return 'unauthorized';
  if (/\/locks(\/|$)/.test(path)) return 'locks';
  if (method === 'POST' && path.endsWith('/objects/batch')) return 'batch';
  if (method === 'POST' && path.endsWith('/verify')) return 'verify';
  return method === 'PUT' || method === 'GET' ? 'transfer' : 'other';
}

export function storeKindOf({ method, target }: Pick<SeenRequest, 'method' | 'target'>): StoreKind {
  const isSigned = queryOf(target).has('X-Amz-Signature');
  if (isSigned && method === 'PUT') return 'clientPut';
  if (isSigned && method === 'GET') return 'clientGet';
  if (method === 'HEAD') return 'serverHead';
  // The parts of an upload are priced as PUT, and so are its beginning and its end.
  if (method === 'PUT' || method === 'POST') return 'serverPut';
  if (method === 'GET') return isBucket(target) ? 'serverList' : 'serverGet';
  return 'serverDelete';
}

/** Whether an answer is none that a healthy push has. A HEAD of an absent object and a missing credential are. */
export function isFailure({ method, status, target }: SeenRequest): boolean {
  if (status < 400 || status === 401) return false;
  if (status === 404 && method === 'HEAD') return false;
  // Servers without locks say so.
  return !(/\/locks(\/|$)/.test(pathOf(target)) && (status === 404 || status === 501));
}

const pathOf = (target: string) => target.split('?', 1)[0] ?? '';
const queryOf = (target: string) => new URLSearchParams(target.slice(pathOf(target).length));
/** In path style: `/bucket` or `/bucket/`. */
const isBucket = (target: string) => /^\/[^/]+\/?$/.test(pathOf(target));
