import { Title } from '../parts.tsx';
import { namedRepos } from '../text.ts';
import type { ViewProps } from '../view-props.ts';
import { CiRules } from './ci-rules.tsx';
import { Invitations } from './invitations.tsx';
import { Tokens } from './tokens.tsx';
import { Users } from './users.tsx';

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
