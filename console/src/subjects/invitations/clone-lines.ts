import { storeLines } from '../../git-lines.ts';

export const cloneLines = (origin: string) => `${storeLines(origin)}\ngit clone YOUR-REPOSITORY-URL`;
