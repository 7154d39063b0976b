/** The secrets by which users sign in, of a stage: functions of its settings. */

export { secretsOfApps as hosts } from './hosts/git-hosts.ts';
