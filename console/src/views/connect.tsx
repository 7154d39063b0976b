import { useState } from 'preact/hooks';
import { repoPattern } from '../../../lambda/core/rules/names.ts';
import { formatAddress, tenantAddress } from '../address.ts';
import { storeLines, trackLines, urlLine } from '../git-lines.ts';
import { Card, Choice, Code } from '../parts.tsx';
import { Line } from './table.tsx';
import './connect.css';

const ways = ['git', 'cli'] as const;

/** How a repository gets to store its objects here, in three steps; and what comes next. */
export function FirstPush({ tenant, mayManage }: { tenant: string; mayManage: boolean }) {
  const [name, setName] = useState('my-repo');
  const [way, setWay] = useState<(typeof ways)[number]>('git');
  const isName = repoPattern.test(name);
  const repo = isName ? name : 'my-repo';
  const line = way === 'git' ? urlLine(location.origin, tenant, repo) : `lfs-quota connect ${tenant} ${repo}`;
  const access = formatAddress(tenantAddress(tenant, 'access'));
  return (
    <>
      <Card
        title="Connect a repository"
        note="about a minute"
        action={
          <Choice
            label="Program"
            values={ways}
            value={way}
            textOf={(each) => (each === 'git' ? 'Plain git' : 'lfs-quota CLI')}
            onChoose={setWay}
          />
        }
      >
        <ol class="steps">
          <li>
            <label for="repo-name">Repo name</label>
            <input
              id="repo-name"
              type="text"
              spellcheck={false}
              autocomplete="off"
              value={name}
              aria-invalid={!isName}
              aria-describedby="repo-rule"
              onInput={({ currentTarget }) => setName(currentTarget.value)}
            />
            <p class="note" id="repo-rule">
              {isName ? '' : 'Letters, digits, dots, hyphens and underscores, without .git at the end.'}
            </p>
          </li>
          <li>
            <p>In your Git repository, once for everyone who clones it</p>
            <Code name="the address of the repo" text={line} />
          </li>
          <li>
            <p>Pick the files, commit and push</p>
            <Code
              name="a first push"
              text={`${way === 'git' ? storeLines(location.origin) : 'git lfs install'}\n${trackLines}`}
            />
            {way === 'git' && (
              <p class="note">
                When Git asks for {location.host}, enter any name, and paste{' '}
                {mayManage ? <a href={access}>a token</a> : 'your token'} as password.
              </p>
            )}
          </li>
        </ol>
        <p class="waiting soft">
          <i class="light" aria-hidden="true" /> Waiting for the first push. This page updates automatically.
        </p>
      </Card>
      {mayManage && (
        <Card title="Next steps">
          <ul>
            <Step href={access} name="Invite your team" note="A link for one user." action="Invite" />
            <Step
              href={access}
              name="Let CI pull without a secret"
              note="A rule for GitHub Actions or GitLab, and a workflow to copy."
              action="Add a rule"
            />
            <Step
              href={formatAddress(tenantAddress(tenant, 'settings'))}
              name="Get notified before it's full"
              note="At 80%, at 90%, and when a push is rejected."
              action="Set up"
            />
          </ul>
        </Card>
      )}
    </>
  );
}

function Step(props: { href: string; name: string; note: string; action: string }) {
  const { href, name, note, action } = props;
  return (
    <li>
      <Line name={name} note={note}>
        <a class="button" href={href} aria-label={`${action}: ${name}`}>
          {action}
        </a>
      </Line>
    </li>
  );
}
