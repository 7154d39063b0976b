import type { PublicRead } from '../../../lambda/domain/public-read.ts';
import { MemoryRepoMarks } from './repo-marks.ts';

/** Public repos in memory, for tests. */
export class MemoryPublicReads extends MemoryRepoMarks<PublicRead> {}
