import type { ExportJobs } from './job-store.ts';
import type { ExportQueue } from './messages.ts';
import type { ExportSettings } from './rules/settings.ts';

export interface ExportPorts {
  readonly exportJobs: ExportJobs;
  readonly exportQueue: ExportQueue;
  readonly exportSettings: ExportSettings;
}
