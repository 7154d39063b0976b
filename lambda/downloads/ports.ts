import type { Copier } from './copier.ts';
import type { Copies } from './copy-store.ts';
import type { Downloads } from './download-store.ts';
import type { CopyQueue } from './messages.ts';

/** Downloads, and copies from other servers. */
export interface DownloadPorts {
  readonly downloads: Downloads;
  readonly copies: Copies;
  readonly copyQueue: CopyQueue;
  readonly copier: Copier;
}
