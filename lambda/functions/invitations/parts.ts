import type { Table } from '../../core/table/requests.ts';
import { storesOf } from '../../core/table/stores.ts';
import { acceptOperations } from '../../subjects/invitations/routes.ts';
import * as stores from '../../subjects/invitations/stores.ts';

export const accepting = { operations: acceptOperations, parts: (tables: Table) => storesOf(stores, tables) };
