import {
  type AdoptedRepo,
  adoptedPathRule,
  adoptedReposMax,
  conflictsOfAdopted,
  isAdoptedRepo,
} from './adopted-repo.ts';
import { parseJson } from './json.ts';
import { nameLayouts } from './stored-names.ts';

/**
 * The adopted repos of a stage from JSON. Without it: none.
 *
 * @throws {Error} that says what is wrong with it. No function may run with others than the rest of the stage.
 */
export function adoptedReposFromJson(text: string | undefined): readonly AdoptedRepo[] {
  if (text === undefined) return [];
  const value = parseJson(text);
  if (!Array.isArray(value)) throw new Error('The adopted repos are no JSON list.');
  if (value.length > adoptedReposMax)
    throw new Error(`There are ${value.length} adopted repos, of at most ${adoptedReposMax}.`);
  const repos = value.map((each: unknown, index) => {
    if (isAdoptedRepo(each)) return each;
    throw new Error(
      `Entry ${index + 1} of the adopted repos is not {tenant, repo, path, names} with valid names: path ` +
        `${adoptedPathRule}; names is one of ${nameLayouts.join(', ')}.`,
    );
  });
  const [conflict] = conflictsOfAdopted(repos);
  if (conflict) throw new Error(`Of the adopted repos, ${conflict.message}.`);
  return repos;
}

/** For {@link adoptedReposFromJson}. undefined: there are none. */
export function adoptedReposToJson(repos: readonly AdoptedRepo[]): string | undefined {
  return repos.length === 0 ? undefined : JSON.stringify(repos);
}
