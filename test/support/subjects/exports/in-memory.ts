import {
  createDynamoDbExportJobs,
  exportPartition,
  exportStart,
} from '../../../../lambda/subjects/exports/job-store.ts';
import { type ExportJob, exportSchema } from '../../../../lambda/subjects/exports/rules/job.ts';
import { storeClass } from '../../memory/stores.ts';

export class MemoryExportJobs extends storeClass(createDynamoDbExportJobs) {
  /** All of a tenant, without waiting. */
  of(tenant: string): readonly ExportJob[] {
    return this.table.store
      .itemsOf(exportPartition(tenant), exportStart)
      .map((item) => exportSchema.parse(item));
  }
}
