import { repoPattern } from '../../../lambda/rules/names.ts';
import { Title } from '../parts.tsx';
import type { ViewProps } from '../view-props.ts';
import { CiRules } from './ci-rules.tsx';
import { Tokens } from './tokens.tsx';

/** Who gets in: tokens, and CI jobs. */
export function Access({ tenant, session, address, body, nowMs }: ViewProps) {
  const repos = body.repos.map(({ repo }) => repo).filter((repo) => repoPattern.test(repo));
  return (
    <main>
      <Title address={address} />
      <Tokens tenant={tenant} session={session} repos={repos} nowMs={nowMs} />
      <CiRules tenant={tenant} repos={repos} />
    </main>
  );
}
