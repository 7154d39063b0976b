import type { PublicRead } from '../domain/public-read.ts';
import type { RepoMarks } from './repo-marks.ts';

/** Which repos anybody may download from. */
export type PublicReads = RepoMarks<PublicRead>;
