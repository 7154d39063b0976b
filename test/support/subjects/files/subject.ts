import type { TestedSubject } from '../../subject.ts';
import { filesRuns } from './cli-runs.ts';

export const files = { runs: { files: filesRuns } } satisfies TestedSubject;
