export const locks = { tab: 'locks' };
