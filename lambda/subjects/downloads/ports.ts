import type { Copier } from './copier.ts';
import type { Copies } from './copy-store.ts';
import type { Downloads } from './download-store.ts';
import type { CopyQueue } from './messages.ts';
import type { PublicReads } from './public-read-store.ts';

export interface DownloadPorts {
  readonly downloads: Downloads;
  readonly publicReads: PublicReads;
  readonly copies: Copies;
  readonly copyQueue: CopyQueue;
  readonly copier: Copier;
}
