import type { DownloadPorts } from '../ports.ts';
import type { Copier } from './copier.ts';
import type { CopyQueue } from './messages.ts';

export interface CopyPorts extends Pick<DownloadPorts, 'copies'> {
  readonly copyQueue: CopyQueue;
  readonly copier: Copier;
}
