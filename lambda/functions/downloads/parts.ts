import type { Table } from '../../core/table/requests.ts';
import { publicRepoPart } from '../../subjects/downloads/repo-parts.ts';
import { downloads, publicReads } from '../../subjects/downloads/stores.ts';

export const publicPart = ({
  tables,
  ...deps
}: { tables: Table } & Omit<Parameters<typeof publicRepoPart>[0], 'downloads' | 'publicReads'>) =>
  publicRepoPart({ ...deps, downloads: downloads(tables), publicReads: publicReads(tables) });
