import { Title } from '../parts.tsx';
import { namedRepos } from '../text.ts';
import type { ViewProps } from '../view-props.ts';
import { cardsOf } from './subject-parts.ts';
import { Tokens } from './tokens.tsx';

const Cards = cardsOf('access', { 30: Tokens });

/** Who gets in: users of git hosts, by invitation, tokens, and CI jobs. */
export function Access(props: ViewProps) {
  return (
    <main>
      <Title address={props.address} />
      <Cards {...props} repos={namedRepos(props.body.repos)} />
    </main>
  );
}
