/** A stage that trusts a git host, if it has such a setting: what is spread may be one that no subject has. */
export const trusting = {
  gitHosts: [{ id: 'github', kind: 'github' as const, url: 'https://api.github.com' }],
};

/** The same of one that writes files of usage. */
export const writing = { usageFiles: true };
