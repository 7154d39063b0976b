import type { RepoBody } from '../../../lambda/contract.ts';
import * as overviewParts from '../overview-parts.ts';
import type { OverviewPart, RepoPills } from '../view-props.ts';

const ofSubjects = Object.values<OverviewPart>(overviewParts).map(({ repoPills }) => repoPills);

/** What stands beside a repo's name. @param own those of no subject. */
export function Pills({ repo, own, isTitle = false }: { repo: RepoBody; own: RepoPills; isTitle?: boolean }) {
  return Object.values<RepoPills[number]>(Object.assign({}, own, ...ofSubjects)).map((textOf, index) => {
    const text = textOf(repo, isTitle);
    return (
      text && (
        <span class="pill" key={index}>
          {text}
        </span>
      )
    );
  });
}
