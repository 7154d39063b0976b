import { scopeText } from '../text.ts';
import type { Field, Values } from './form.tsx';

/** What somebody may do, of which repos and for how long: of a token, and of an invitation. */
type Grant = Values<'scope' | 'repos' | 'seconds'>;

export type Scope = Exclude<keyof typeof scopeText, 'gc'>;

export const usualGrant: Grant = { scope: 'write', repos: '', seconds: '7776000' };

const lifetimes = [
  ['7776000', '90 days'],
  ['604800', '7 days'],
  ['31536000', '365 days'],
  ['', 'Never'],
] as const;

/** The command line makes those for gc. */
const scopes = Object.entries(scopeText).filter(([scope]) => scope !== 'gc');

export const scopeField = { name: 'scope', label: 'Scope', options: scopes } as const;

/** @param options.mayNever whether it may never expire. */
export function grantFields(
  { scope, repos: chosen }: Grant,
  options: { repos: readonly string[]; mayNever: boolean },
): Field<keyof Grant>[] {
  const repos: Field<'repos'> = {
    name: 'repos',
    label: 'Repos',
    options: options.repos.map((repo) => [repo, repo]),
    isMany: true,
    note: chosen === '' ? 'All repos, new ones too.' : `Only ${chosen.replaceAll(' ', ', ')}.`,
  };
  const times = lifetimes.filter(([time]) => options.mayNever || time !== '');
  return [
    scopeField,
    ...(scope === 'manage' || options.repos.length === 0 ? [] : [repos]),
    { name: 'seconds', label: 'Token expires', options: times },
  ];
}

/** As the API takes it. No repos are all. */
export const grantBody = ({ scope, repos, seconds }: Grant) => ({
  scope: scope as Scope,
  repos: scope === 'manage' || repos === '' ? null : repos.split(' '),
  expiresInSeconds: seconds === '' ? null : Number(seconds),
});
