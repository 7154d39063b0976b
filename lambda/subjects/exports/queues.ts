export const exportQueues = { exportQueue: 'Export' } as const;
