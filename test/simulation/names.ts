/** Names in a simulation, by index. */
/** Each begins with the one before it, so a prefix without its slash would mix them up. */
export const tenantName = (index: number) => ['acme', 'acme-b', 'acme-b2'][index] ?? `acme-b2${index}`;
export const repoName = (index: number) => `repo-${index}`;
export const oidName = (index: number) => index.toString(16).repeat(64).slice(0, 64);
