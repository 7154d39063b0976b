export const chunkQueues = { chunkQueue: 'Chunk' } as const;
