import { readFileSync } from 'node:fs';
import { adoptedReposFromJson } from '../lambda/domain/adopted-json.ts';
import type { AdoptedRepo } from '../lambda/domain/adopted-repo.ts';
import { StartupError } from './system/startup-error.ts';

/** @throws {StartupError} that says what is wrong with the file. */
export function readAdoptedRepos(path: string): readonly AdoptedRepo[] {
  try {
    return adoptedReposFromJson(readFileSync(path, 'utf8'));
  } catch (cause) {
    const what = cause instanceof Error ? cause.message : String(cause);
    throw new StartupError(`--adopt ${path} cannot be used: ${what}`, { cause });
  }
}
