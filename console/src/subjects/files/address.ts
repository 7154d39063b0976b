export const files = { tab: 'files', kind: 'files' } as const;
