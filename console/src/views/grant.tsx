import type { TokenBody } from '../../../lambda/api/contract/tokens.ts';
import { scopeText } from '../text.ts';
import { SelectField } from './fields.tsx';

export const lifetimes = [
  ['7776000', '90 days'],
  ['604800', '7 days'],
  ['31536000', '365 days'],
  ['', 'Never'],
] as const;

/** What somebody may do, of which repos and for how long: of a token, and of an invitation. */
export interface Grant {
  readonly scope: TokenBody['scope'];
  readonly repos: readonly string[];
  readonly seconds: string;
}

const scopes = Object.entries(scopeText) as [Grant['scope'], string][];

export const usualGrant: Grant = { scope: 'write', repos: [], seconds: '7776000' };

/** As the API takes it. No repos are all. */
export const grantBody = ({ scope, repos, seconds }: Grant) => ({
  scope,
  repos: scope === 'manage' || repos.length === 0 ? null : repos,
  expiresInSeconds: seconds === '' ? null : Number(seconds),
});

export function GrantScope({ grant, onGrant }: { grant: Grant; onGrant: (grant: Grant) => void }) {
  return (
    <SelectField
      label="Scope"
      value={grant.scope}
      options={scopes}
      onChoose={(scope) => onGrant({ ...grant, scope })}
    />
  );
}

export function GrantFields(props: {
  grant: Grant;
  onGrant: (grant: Grant) => void;
  repos: readonly string[];
  times: readonly (readonly [string, string])[];
}) {
  const { grant, onGrant, repos, times } = props;
  return (
    <>
      <GrantScope grant={grant} onGrant={onGrant} />
      {grant.scope !== 'manage' && (
        <>
          <label for="grant-repos">Repos</label>
          <select
            id="grant-repos"
            multiple
            size={4}
            aria-describedby="grant-all"
            onChange={({ currentTarget }) =>
              onGrant({ ...grant, repos: [...currentTarget.selectedOptions].map(({ value }) => value) })
            }
          >
            {repos.map((repo) => (
              <option key={repo} selected={grant.repos.includes(repo)}>
                {repo}
              </option>
            ))}
          </select>
          <p class="note" id="grant-all">
            {grant.repos.length === 0 ? 'All repos, new ones too.' : `Only ${grant.repos.join(', ')}.`}
          </p>
        </>
      )}
      <SelectField
        label="Expires"
        value={grant.seconds}
        options={times}
        onChoose={(seconds) => onGrant({ ...grant, seconds })}
      />
    </>
  );
}
