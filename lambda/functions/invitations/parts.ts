import type { Table } from '../../core/table/requests.ts';
import { storesOf } from '../../stores.ts';
import * as stores from '../../subjects/invitations/stores.ts';

export const acceptParts = (tables: Table) => storesOf(stores, tables);
