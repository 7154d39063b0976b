/** An export of everything that a tenant stores, as a tar. */
export const wholeTenant = {
  repo: null,
  listedObjects: null,
  isNamed: false,
  format: 'tar',
  isDryRun: false,
} as const;
