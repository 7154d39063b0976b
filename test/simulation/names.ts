/** Names in a simulation, by index. */
export const repoName = (index: number) => `repo-${index}`;
export const oidName = (index: number) => index.toString(16).repeat(64).slice(0, 64);
