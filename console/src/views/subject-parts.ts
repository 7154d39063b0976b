import { inOrder } from '../parts.tsx';
import * as subjects from '../subjects.ts';
import type { CardProps, Placed, SubjectParts } from '../view-props.ts';

export const subjectParts: readonly SubjectParts[] = Object.values(subjects);

/** Asked by one of them. */
export const useGitHosts =
  subjectParts.map((parts) => parts.useGitHosts).find((each) => each !== undefined) ?? (() => []);

type Named = 'views' | 'tabs' | 'doors';

/** Of each subject, by their names. */
export const partsByName = <K extends Named>(kind: K): NonNullable<SubjectParts[K]> =>
  Object.assign({}, ...subjectParts.map((parts) => parts[kind]));

/** The cards of a page, in their order. @param own those of no subject. */
export const cardsOf = <K extends keyof CardProps>(kind: K, own: Placed<CardProps[K]>) =>
  inOrder<CardProps[K]>(own, ...subjectParts.map((parts) => (parts as Partial<Record<K, typeof own>>)[kind]));
