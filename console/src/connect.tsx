import { useState } from 'preact/hooks';
import { repoPattern } from '../../lambda/domain/names.ts';
import { Card, Code } from './parts.tsx';

/** What is new or changed of a kind of files becomes objects. */
const firstPush = [
  'git lfs install',
  'git lfs track "*.psd"',
  'git add .',
  'git commit -m "Large files to git-lfs"',
  'git push origin HEAD',
].join('\n');

/** How a repository gets to store its objects here, in three steps. */
export function Connect({ tenant, isFirst }: { tenant: string; isFirst: boolean }) {
  const [name, setName] = useState('my-repo');
  const isName = repoPattern.test(name);
  const repo = isName ? name : 'my-repo';
  const config = `git config -f .lfsconfig lfs.url ${location.origin}/${tenant}/${repo}/info/lfs`;
  return (
    <Card
      title={isFirst ? 'Make your first push' : 'Connect a repository'}
      {...(isFirst && { note: 'three steps; this page shows its bytes when they arrive' })}
    >
      <ol class="steps">
        <li>
          <label for="repo-name">Name the repo as you like</label>
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
          <p>In the git repository, once for all who clone it</p>
          <Code name="the address of the repo" text={config} />
        </li>
        <li>
          <p>Push; where git asks for a password, paste a token</p>
          <Code name="a first push" text={firstPush} />
        </li>
      </ol>
      {isFirst && (
        <p class="waiting soft">
          <span aria-hidden="true" /> Waiting for the first object…
        </p>
      )}
    </Card>
  );
}
