import { readFileSync } from 'node:fs';

type Bench = (print: (text: string) => void, options: readonly string[]) => Promise<void>;

/** A benchmark: the file of its function, and the function. */
interface Row {
  readonly file: string;
  readonly load: () => Promise<Bench>;
}

/** By the name that `npm run bench -- NAME` takes. docs/measured.md has the newest results. */
export const benches: Readonly<Record<string, Row>> = {
  chunks: {
    file: 'push/bench-chunks.ts',
    load: async () => (await import('./push/bench-chunks.ts')).benchChunks,
  },
  crowd: {
    file: 'crowd/bench-crowd.ts',
    load: async () => (await import('./crowd/bench-crowd.ts')).benchCrowd,
  },
  export: {
    file: 'export/bench-export.ts',
    load: async () => (await import('./export/bench-export.ts')).benchExport,
  },
  functions: {
    file: 'functions/bench-functions.ts',
    load: async () => (await import('./functions/bench-functions.ts')).benchFunctions,
  },
  move: { file: 'push/bench-move.ts', load: async () => (await import('./push/bench-move.ts')).benchMove },
  push: { file: 'push/bench-push.ts', load: async () => (await import('./push/bench-push.ts')).benchPush },
  scan: { file: 'scan/bench-scan.ts', load: async () => (await import('./scan/bench-scan.ts')).benchScan },
};

const commentOfBench = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\nexport async function bench/;

/** What a benchmark measures and its options: the comment of its function. */
export function helpOf({ file }: Row): string {
  const [, comment = ''] = commentOfBench.exec(readFileSync(new URL(file, import.meta.url), 'utf8')) ?? [];
  return comment.replaceAll(/^ *\* ?/gm, '').trim();
}
