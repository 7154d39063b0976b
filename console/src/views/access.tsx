import { Title } from '../parts.tsx';
import { namedRepos } from '../text.ts';
import type { ViewProps } from '../view-props.ts';
import { cardsOf } from './subject-parts.ts';
import { Tokens } from './tokens.tsx';

const cards = cardsOf('access', { 30: Tokens });

/** Who gets in: users of git hosts, by invitation, tokens, and CI jobs. */
export function Access(props: ViewProps) {
  const repos = namedRepos(props.body.repos);
  return (
    <main>
      <Title address={props.address} />
      {cards.map((Part, index) => (
        <Part key={index} {...props} repos={repos} />
      ))}
    </main>
  );
}
