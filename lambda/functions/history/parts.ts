import { ScanListing } from '../../core/scan/list-objects.ts';
import { createObjectStore, createTextFiles } from '../../core/store/object-store.ts';
import { bucketClient, clock } from '../../parts.ts';
import type { UsageFilePorts } from '../../subjects/history/ports.ts';

declare const stageJson: { readonly usageFiles: string | undefined };

/** Where the stage has files of usage, if it does. */
export function stageUsageFiles(): UsageFilePorts {
  if (!stageJson.usageFiles) return {};
  const client = bucketClient();
  const [listing, store] = [new ScanListing({ client }), createObjectStore({ client, clock })];
  return { usageFiles: { listing, store, archives: createTextFiles({ client }) } };
}
