import { Title } from '../parts.tsx';
import { CiRules } from '../subjects/ci/ci-rules.tsx';
import { Invitations } from '../subjects/invitations/invitations.tsx';
import { Users } from '../subjects/sign-in/users.tsx';
import { namedRepos } from '../text.ts';
import type { ViewProps } from '../view-props.ts';
import { Tokens } from './tokens.tsx';

/** Who gets in: users of git hosts, by invitation, tokens, and CI jobs. */
export function Access(props: ViewProps) {
  const repos = namedRepos(props.body.repos);
  return (
    <main>
      <Title address={props.address} />
      <Users {...props} />
      <Invitations {...props} repos={repos} />
      <Tokens {...props} repos={repos} />
      <CiRules {...props} repos={repos} />
    </main>
  );
}
