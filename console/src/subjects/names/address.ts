export const names = { tab: 'paths' } as const;
