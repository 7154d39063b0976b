import { formatDuration } from '../../../../cli/render.ts';
import type { SentTo } from '../../../../cli/routes.ts';
import type { ExchangeRuleBody } from '../../../../lambda/subjects/ci/contract.ts';
import { serverUrl } from '../../api.ts';
import { Button, Card, Code, Problem } from '../../parts.tsx';
import { change, useRead } from '../../requests.ts';
import type { SubjectParts } from '../../view-props.ts';
import { type Question, useDialog } from '../../views/dialog.tsx';
import { Line } from '../../views/table.tsx';
import { hostOf, isGithub, jobsText } from './jobs-text.ts';

/** What a GitHub job runs before `git lfs pull`, as docs/team-admins.md has it. */
const workflowOf = (tenant: string) => `permissions: { id-token: write, contents: read }
env: { LFS: ${serverUrl} }
steps:
  - uses: actions/checkout@v4 # without lfs: true
  - shell: bash
    run: |
      ID=$(curl -fsSH "Authorization: Bearer $ACTIONS_ID_TOKEN_REQUEST_TOKEN" "$ACTIONS_ID_TOKEN_REQUEST_URL&audience=$LFS/${tenant}" | jq -r .value)
      T=$(curl -fsS $LFS/v1/tenants/${tenant}/exchange -H 'Content-Type: application/json' -d "{\\"idToken\\":\\"$ID\\"}" | jq -r .token)
      export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=http.$LFS/.extraheader GIT_CONFIG_VALUE_0="Authorization: Bearer $T"
      git lfs pull`;

/** Rules by which CI jobs get short-lived tokens, so they need no stored secret. */
function CiRules({ tenant, repos }: { tenant: string; repos: readonly string[] }) {
  const { body, refusal, read } = useRead('GET /v1/tenants/{tenant}/exchange-rules', { tenant });
  const { dialog, ask, tell } = useDialog();
  if (body?.issuers.length === 0) return null;
  const show = () =>
    tell({ title: 'In your workflow', text: <Code text={workflowOf(tenant)} name="the workflow" /> });
  const create = () =>
    ask(
      newRule(body?.issuers ?? [], repos, (rule) =>
        change('POST /v1/tenants/{tenant}/exchange-rules', { tenant, body: rule }, () => {
          show();
          read();
        }),
      ),
    );
  const remove = ({ ruleId }: ExchangeRuleBody) =>
    ask({
      title: 'Delete this rule?',
      action: 'Delete',
      text: <p>Its tokens stop working immediately, in running jobs too.</p>,
      run: () => change('DELETE /v1/tenants/{tenant}/exchange-rules/{ruleId}', { tenant, ruleId }, read),
    });
  return (
    <Card
      title="CI jobs"
      note="no stored secret"
      action={
        <>
          <Button text="Workflow" kind="quiet" onPress={show} />
          <Button text="New rule" isDisabled={!body} onPress={create} />
        </>
      }
    >
      <Problem text={refusal} />
      {body?.rules.map((rule) => (
        <Line
          key={rule.ruleId}
          name={jobsText(rule)}
          note={
            <>
              {rule.scope}, {rule.repos?.join(', ') ?? 'all repos'}, tokens for{' '}
              {formatDuration(rule.ttlSeconds * 1000)}
              {rule.warning && <span class="is-near"> Replace this rule: it {rule.warning}.</span>}
            </>
          }
        >
          <Button
            text="Delete"
            kind="quiet"
            label={`Delete rule: ${jobsText(rule)}`}
            onPress={() => remove(rule)}
          />
        </Line>
      ))}
      {body?.rules.length === 0 && <p class="soft">No rules yet: CI jobs can't get tokens.</p>}
      {dialog}
    </Card>
  );
}

/** What a new rule is asked for by, and what is sent. */
function newRule(
  issuers: readonly string[],
  repos: readonly string[],
  send: (rule: SentTo<'POST /v1/tenants/{tenant}/exchange-rules'>) => Promise<string | undefined>,
): Question<'issuer' | 'name' | 'number' | 'scope' | 'branch' | 'repo'> {
  return {
    title: 'New CI rule',
    action: 'Create rule',
    start: { issuer: issuers[0] ?? '', name: '', number: '', scope: 'read', branch: 'main', repo: '' },
    fields: ({ issuer, name, scope }) => [
      { name: 'issuer', label: 'Host', options: issuers.map((each) => [each, hostOf(each)]) },
      { name: 'name', label: 'Repository', placeholder: 'owner/name' },
      {
        name: 'number',
        label: 'Its number',
        note: "Names can be registered again; numbers can't. Look it up:",
        below: <Code text={lookUp(issuer, name.trim())} name="how to look it up" />,
      },
      {
        name: 'scope',
        label: 'Scope',
        options: [
          ['read', 'read'],
          ['write', 'read and write'],
        ],
      },
      ...(scope === 'write'
        ? [{ name: 'branch', label: isGithub(issuer) ? 'Branch' : 'Protected branch' } as const]
        : []),
      { name: 'repo', label: 'Repo', options: [['', 'All'], ...repos.map((each) => [each, each] as const)] },
    ],
    run: ({ issuer, number, scope, branch, repo }) => {
      const id = number.trim();
      const ref = `refs/heads/${branch.trim()}`;
      const isWrite = scope === 'write';
      const match = isGithub(issuer)
        ? { repository_id: id, ...(isWrite && { ref }) }
        : { project_id: id, ...(isWrite && { ref_path: ref, ref_protected: 'true' }) };
      return send({ issuer, match, scope: isWrite ? 'write' : 'read', repos: repo === '' ? null : [repo] });
    },
  };
}

/** How a repository's number is looked up. It's pasted into a shell. */
function lookUp(issuer: string, name: string): string {
  const found = /^[\w.-]+(\/[\w.-]+)+$/.test(name) ? name : 'OWNER/NAME';
  return isGithub(issuer)
    ? `gh api repos/${found} --jq .id`
    : `glab api projects/${encodeURIComponent(found)} | jq .id`;
}

export const ci: SubjectParts = { access: { 40: CiRules } };
