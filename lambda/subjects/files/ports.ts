import type { FilePorts } from '../../core/store/rules/file-ports.ts';
import type { PartUploads } from './part-store.ts';

/** Uploads of files in parts. */
export interface PartPorts {
  readonly partUploads: PartUploads;
  readonly archives: Pick<FilePorts['archives'], 'createUpload' | 'parts' | 'complete' | 'abort'>;
}
