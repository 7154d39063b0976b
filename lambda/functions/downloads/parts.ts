import type { Table } from '../../core/table/requests.ts';
import * as stores from '../../lists/stores.ts';
import { publicRepoPart } from '../../subjects/downloads/repo-parts.ts';

const offers = (tables: Table) => ({
  downloads: stores.downloads(tables),
  publicReads: stores.publicReads(tables),
});

export const batchParts = (tables: Table) => ({ ...offers(tables), copies: stores.copies(tables) });

export const publicPart = ({
  tables,
  ...deps
}: { tables: Table } & Omit<Parameters<typeof publicRepoPart>[0], keyof ReturnType<typeof offers>>) =>
  publicRepoPart({ ...deps, ...offers(tables) });
