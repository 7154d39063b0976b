import type { ChunkQueue } from './messages.ts';
import type { ChunkedUploads } from './upload-store.ts';

export interface ChunkPorts {
  readonly chunkedUploads: ChunkedUploads;
  readonly chunkQueue: ChunkQueue;
}
