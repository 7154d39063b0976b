import type { ObjectBody } from '../../lambda/http/management/objects/schemas.ts';

export type ObjectOrder = 'largest' | 'oldest';

export const objectKeyOf = ({ repo, oid }: Pick<ObjectBody, 'repo' | 'oid'>) => `${repo}/${oid}`;

/** What a delete would free most by, or what has lain longest. What the store has no time of comes last. */
export function sortObjects(objects: readonly ObjectBody[], by: ObjectOrder): ObjectBody[] {
  const older = (a: ObjectBody, b: ObjectBody) => {
    const [left, right] = [a.storedAt ?? '~', b.storedAt ?? '~'];
    return left === right ? 0 : left < right ? -1 : 1;
  };
  const larger = (a: ObjectBody, b: ObjectBody) => b.sizeBytes - a.sizeBytes;
  const [first, second] = by === 'largest' ? [larger, older] : [older, larger];
  return [...objects].sort(
    (a, b) => first(a, b) || second(a, b) || (objectKeyOf(a) < objectKeyOf(b) ? -1 : 1),
  );
}
