import { contract } from '../../../lambda/contract.ts';
import type { RouteContract } from '../../../lambda/frame/contract/contract.ts';
import { type RouteKey, routes } from '../../../lambda/routes.ts';
import type { Answer, Asked } from './harness.ts';

/** A server that answers each operation with the example that its description has. */

/** The operation of a request, as the API would route it. */
export function operationOf({ method, path }: Pick<Asked, 'method' | 'path'>): RouteKey | undefined {
  const segments = path.split('?')[0]?.split('/') ?? [];
  const found = routes.find((route) => {
    const wanted = route.path.split('/');
    return (
      route.method === method &&
      wanted.length === segments.length &&
      wanted.every((part, index) => part.startsWith('{') || part === segments[index])
    );
  });
  return found && (`${found.method} ${found.path}` as RouteKey);
}

/** @param change what becomes of the example of an answer. */
export function exampleAnswer(asked: Asked, change: (body: unknown) => unknown = (body) => body): Answer {
  const operation = operationOf(asked);
  if (operation === undefined) return { status: 404 };
  const doc: RouteContract = contract[operation];
  const [[status, answer] = ['500', undefined]] = Object.entries(doc.answers);
  return answer?.example === undefined
    ? { status: Number(status) }
    : { status: Number(status), body: change(answer.example) };
}
