import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Where half a minute or more goes, the longest first. */
const longFiles: readonly string[] = [
  'test/simulation/simulation.test.ts',
  'test/simulation/stories.test.ts',
  'test/embedded/blackbox.test.ts',
  'test/unit/lambda/subjects/exports/kills.long.test.ts',
  'test/contract/object-store.long.test.ts',
];

/**
 * Begins the long files first, so that no worker is left with one of them at the end. vitest does so itself where it
 * has run before, by the times that it has kept. In a new clone it only knows how large the files are.
 */
export class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const rankOf = ({ moduleId }: TestSpecification) => {
      const rank = longFiles.indexOf(relative(this.ctx.config.root, moduleId));
      return rank === -1 ? longFiles.length : rank;
    };
    // Each project stays in one piece.
    const projects = new Set(sorted.map(({ project }) => project));
    return [...projects].flatMap((project) =>
      sorted.filter((file) => file.project === project).sort((a, b) => rankOf(a) - rankOf(b)),
    );
  }
}
