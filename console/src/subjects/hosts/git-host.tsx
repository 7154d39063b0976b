import { Button, Card } from '../../parts.tsx';
import type { RepoProps, SubjectParts } from '../../view-props.ts';
import { useDialog } from '../../views/dialog.tsx';

/** Which repository of a git host it is linked to. Nothing without such a host. */
function GitHost({ tenant, repo, send, useGitHosts }: RepoProps) {
  const { gitHost } = repo;
  const hosts = useGitHosts(tenant);
  const { dialog, ask } = useDialog();
  const link = () =>
    ask({
      title: 'Link a repository',
      action: 'Link',
      start: { host: hosts[0] ?? '', name: '' },
      fields: () => [
        { name: 'host', label: 'Git host', options: hosts.map((each) => [each, each]) },
        { name: 'name', label: 'Repository', placeholder: 'owner/name', isRequired: true },
      ],
      run: ({ host, name }) => send({ gitHost: { host, repo: name.trim() } }),
    });
  const unlink = () =>
    ask({
      title: 'Unlink this repo?',
      action: 'Unlink',
      text: <p>Its users on {gitHost?.host} lose access immediately. Tokens still work.</p>,
      run: () => send({ gitHost: null }),
    });
  if (hosts.length === 0 && !gitHost) return null;
  return (
    <Card title="Git host">
      <p>
        {gitHost
          ? `Linked to ${gitHost.repo} on ${gitHost.host}: its users log in with their tokens for it.`
          : 'Link a repository on GitHub, GitLab or Gitea: its users need no token from here.'}
      </p>
      <p class="under">
        <Button text={gitHost ? 'Unlink…' : 'Link…'} onPress={gitHost ? unlink : link} />
      </p>
      {dialog}
    </Card>
  );
}

export const hosts: SubjectParts = {
  repoSettings: { 30: GitHost },
  repoKinds: { 30: ['Linked', ({ gitHost }) => gitHost !== undefined] },
};
