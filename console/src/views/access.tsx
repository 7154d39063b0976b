import { repoPattern } from '../../../lambda/rules/names.ts';
import { Title } from '../parts.tsx';
import type { ViewProps } from '../view-props.ts';
import { CiRules } from './ci-rules.tsx';
import { Invitations } from './invitations.tsx';
import { Tokens } from './tokens.tsx';
import { Users } from './users.tsx';

/** Who gets in: users of git hosts, by invitation, tokens, and CI jobs. */
export function Access({ tenant, session, address, body, nowMs }: ViewProps) {
  const repos = body.repos.map(({ repo }) => repo).filter((repo) => repoPattern.test(repo));
  return (
    <main>
      <Title address={address} />
      <Users tenant={tenant} nowMs={nowMs} />
      <Invitations tenant={tenant} repos={repos} nowMs={nowMs} />
      <Tokens tenant={tenant} session={session} repos={repos} nowMs={nowMs} />
      <CiRules tenant={tenant} repos={repos} />
    </main>
  );
}
