import { nameOfPerson } from '../../people/rules/person.ts';
import type { Caller } from '../../people/rules/tokens.ts';

/** What somebody is told who may only read. @param verb what they wanted, such as `push`. */
export function readOnlyMessage({ person }: Pick<Caller, 'person'>, verb: string): string {
  return person
    ? `${nameOfPerson(person)} may only read there, and so here: to ${verb} takes a right to push.`
    : `This token may only read: ${verb} with a write token.`;
}
