import type { Copies } from './copy-store.ts';
import type { Downloads } from './download-store.ts';
import type { PublicReads } from './public-read-store.ts';

export interface DownloadPorts {
  readonly downloads: Downloads;
  readonly publicReads: PublicReads;
  readonly copies: Copies;
}
