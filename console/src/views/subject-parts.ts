import * as subjects from '../subjects.ts';
import type { SubjectParts } from '../view-props.ts';

/** What the subjects have in views. */

export const subjectParts: readonly SubjectParts[] = Object.values(subjects);

type Named = 'views' | 'tabs' | 'doors';
type Kind = 'access' | 'settings' | 'repo' | 'repoSettings';

/** Of each subject, by their names. */
export const partsByName = <K extends Named>(kind: K): NonNullable<SubjectParts[K]> =>
  Object.assign({}, ...subjectParts.map((parts) => parts[kind]));

/** The cards of a page, in their order. @param own those of no subject. */
export const cardsOf = <K extends Kind>(kind: K, own: NonNullable<SubjectParts[K]>) =>
  Object.values<NonNullable<SubjectParts[K]>[number]>(
    Object.assign({}, own, ...subjectParts.map((parts) => parts[kind])),
  );
