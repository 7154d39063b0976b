import type { RepoBody } from '../../../lambda/contract.ts';
import { repoPattern } from '../../../lambda/core/rules/names.ts';
import { formatAddress, repoAddress } from '../address.ts';
import { growthText } from '../figures.ts';
import { Share } from '../parts.tsx';
import { bytesText, nameOf, percentText } from '../text.ts';
import type { RepoPills } from '../view-props.ts';
import { Pills } from './repo-pills.tsx';
import type { Column } from './table.tsx';

const pills: RepoPills = {
  5: ({ deleting }) => deleting && 'being deleted',
  20: ({ limitBytes }) => limitBytes !== null && `limit ${bytesText(limitBytes)}`,
};

/** What tables say of repos: each, what it stores, of what, and how it has grown. */
export function repoColumns(options: { tenant: string; totalBytes: number | null; nowMs: number }) {
  const { tenant, totalBytes, nowMs } = options;
  const wholeOf = ({ limitBytes }: RepoBody) => limitBytes ?? totalBytes;
  return {
    repo: {
      name: 'Repo',
      of: (body) => {
        const { repo } = body;
        const { text, since } = growthText(body, nowMs);
        return (
          <>
            {repoPattern.test(repo) ? (
              <a href={formatAddress(repoAddress(tenant, repo))}>{repo}</a>
            ) : (
              nameOf(repo)
            )}
            <Pills repo={body} own={pills} />
            <p class="note narrow">
              {text} {since || 'in 30 days'}
            </p>
          </>
        );
      },
    },
    stored: {
      name: 'Stored',
      kind: 'right strong',
      of: ({ storedBytes }) => (storedBytes === null ? '–' : bytesText(storedBytes)),
    },
    bar: {
      name: 'Bar',
      kind: 'wide',
      isHidden: true,
      of: (body) => {
        const whole = wholeOf(body);
        return body.storedBytes !== null && whole !== null && <Share of={whole} bytes={body.storedBytes} />;
      },
    },
    share: {
      name: 'Share',
      kind: 'right soft',
      of: (body) => {
        const whole = wholeOf(body);
        return (
          <>
            {body.storedBytes === null || whole === null ? '–' : percentText(body.storedBytes, whole)}
            {body.limitBytes !== null && <p class="note">of its limit</p>}
          </>
        );
      },
    },
    growth: {
      name: '30 days',
      kind: 'right wide soft',
      of: (body) => {
        const { text, since } = growthText(body, nowMs);
        return (
          <>
            {text}
            {since && <p class="note">{since}</p>}
          </>
        );
      },
    },
  } satisfies Record<string, Column<RepoBody>>;
}
