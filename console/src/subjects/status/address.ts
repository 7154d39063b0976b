export const status = { view: 'status', icon: 'M2 8a6 6 0 1 0 12 0A6 6 0 1 0 2 8M5.5 8.2l1.8 1.8 3.4-3.6' };
