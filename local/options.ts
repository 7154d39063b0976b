import { type UnionToIntersection, valuesOf } from '../lambda/core/rules/types.ts';
import * as subjects from './ports.ts';
import type { Read, SubjectPorts } from './subject-ports.ts';

type OptionsOf<P> = P extends { readonly options: infer O } ? O : never;
type Options = UnionToIntersection<OptionsOf<(typeof subjects)[keyof typeof subjects]>> & object;
export type SubjectOptions = {
  readonly [Name in keyof Options]: Options[Name] extends (given: never) => infer R ? R : never;
};

const options = Object.assign({}, ...valuesOf(subjects).map((each: SubjectPorts) => each.options)) as Options;

/** What subjects read of the options as they are given. @throws {StartupError} */
export const readOptions = (given: object) =>
  Object.fromEntries(
    Object.entries(options)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, read]) => [name, (read as Read)(given as never)]),
  ) as SubjectOptions;

/** Those that are set. */
export const optionsOf = (given: Partial<SubjectOptions>): Partial<SubjectOptions> =>
  Object.fromEntries(Object.entries(given).filter(([name]) => name in options));
