export const copyQueues = { copyQueue: 'Copy' } as const;
