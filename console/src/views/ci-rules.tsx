import { useState } from 'preact/hooks';
import { formatDuration } from '../../../cli/render.ts';
import type { ExchangeRuleBody } from '../../../lambda/api/contract/exchange.ts';
import { Card, Code, Problem } from '../parts.tsx';
import { change, useRead } from '../requests.ts';
import { Confirm, Dialog, FormDialog } from './dialog.tsx';
import { SelectField, TextField } from './fields.tsx';
import { hostOf, isGithub, jobsText } from './view-texts.ts';

/** What a GitHub job runs before `git lfs pull`, as docs/team-admins.md has it. */
const workflowOf = (tenant: string) => `permissions: { id-token: write, contents: read }
env: { LFS: ${location.origin} }
steps:
  - uses: actions/checkout@v4 # without lfs: true
  - shell: bash
    run: |
      ID=$(curl -fsSH "Authorization: Bearer $ACTIONS_ID_TOKEN_REQUEST_TOKEN" "$ACTIONS_ID_TOKEN_REQUEST_URL&audience=$LFS/${tenant}" | jq -r .value)
      T=$(curl -fsS $LFS/v1/tenants/${tenant}/exchange -H 'Content-Type: application/json' -d "{\\"idToken\\":\\"$ID\\"}" | jq -r .token)
      export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=http.$LFS/.extraheader GIT_CONFIG_VALUE_0="Authorization: Bearer $T"
      git lfs pull`;

const scopes = [
  ['read', 'read'],
  ['write', 'read and write'],
] as const;

/** Rules by which CI jobs get short-lived tokens, so they need no stored secret. */
export function CiRules({ tenant, repos }: { tenant: string; repos: readonly string[] }) {
  const path = `/v1/tenants/${tenant}/exchange-rules`;
  const { body, refusal, read } = useRead<{ rules: ExchangeRuleBody[]; issuers: string[] }>(path);
  const [isMaking, setIsMaking] = useState(false);
  const [isShown, setIsShown] = useState(false);
  const remove = async ({ ruleId }: ExchangeRuleBody) => {
    const { problem } = await change(`${path}/${ruleId}`, { method: 'DELETE' });
    if (problem === undefined) read();
    return problem;
  };
  if (body?.issuers.length === 0) return null;
  return (
    <Card
      title="CI jobs"
      note="no stored secret"
      action={
        <>
          <button type="button" class="quiet" onClick={() => setIsShown(true)}>
            Workflow
          </button>
          <button type="button" disabled={!body} onClick={() => setIsMaking(true)}>
            New rule
          </button>
        </>
      }
    >
      <Problem text={refusal} />
      {body?.rules.map((rule) => (
        <Rule key={rule.ruleId} rule={rule} onDelete={() => remove(rule)} />
      ))}
      {body?.rules.length === 0 && <p class="soft">No rules yet: CI jobs can't get tokens.</p>}
      {isMaking && body && (
        <NewRule
          path={path}
          issuers={body.issuers}
          repos={repos}
          onClose={() => setIsMaking(false)}
          onMade={() => {
            setIsMaking(false);
            setIsShown(true);
            read();
          }}
        />
      )}
      {isShown && (
        <Dialog title="In your workflow" onClose={() => setIsShown(false)}>
          <Code text={workflowOf(tenant)} name="the workflow" />
          <div class="answers">
            <button type="button" class="first" onClick={() => setIsShown(false)}>
              Done
            </button>
          </div>
        </Dialog>
      )}
    </Card>
  );
}

function Rule({ rule, onDelete }: { rule: ExchangeRuleBody; onDelete: () => Promise<string | undefined> }) {
  const [isAsking, setIsAsking] = useState(false);
  const { scope, repos, ttlSeconds, warning } = rule;
  return (
    <div class="line">
      <div>
        <p class="strong">{jobsText(rule)}</p>
        <p class="note">
          {scope}, {repos?.join(', ') ?? 'all repos'}, tokens for {formatDuration(ttlSeconds * 1000)}
        </p>
        {warning && <p class="note is-near">Replace this rule: it {warning}.</p>}
      </div>
      <button
        type="button"
        class="quiet"
        aria-label={`Delete rule: ${jobsText(rule)}`}
        onClick={() => setIsAsking(true)}
      >
        Delete
      </button>
      {isAsking && (
        <Confirm title="Delete this rule?" action="Delete" run={onDelete} onClose={() => setIsAsking(false)}>
          <p>Its tokens stop working immediately, in running jobs too.</p>
        </Confirm>
      )}
    </div>
  );
}

function NewRule(props: {
  path: string;
  issuers: readonly string[];
  repos: readonly string[];
  onClose: () => void;
  onMade: () => void;
}) {
  const { path, issuers, repos, onClose, onMade } = props;
  const [issuer, setIssuer] = useState(issuers[0] ?? '');
  const [name, setName] = useState('');
  const [number, setNumber] = useState('');
  const [branch, setBranch] = useState('main');
  const [scope, setScope] = useState<'read' | 'write'>('read');
  const [repo, setRepo] = useState('');
  const isOfGithub = isGithub(issuer);
  const match = isOfGithub
    ? { repository_id: number.trim(), ...(scope === 'write' && { ref: `refs/heads/${branch.trim()}` }) }
    : {
        project_id: number.trim(),
        ...(scope === 'write' && { ref_path: `refs/heads/${branch.trim()}`, ref_protected: 'true' }),
      };
  const create = async () => {
    const body = { issuer, match, scope, repos: repo === '' ? null : [repo] };
    const { problem } = await change(path, { method: 'POST', body });
    if (problem === undefined) onMade();
    return problem;
  };
  // It's pasted into a shell.
  const found = /^[\w.-]+(\/[\w.-]+)+$/.test(name.trim()) ? name.trim() : 'OWNER/NAME';
  const lookUp = isOfGithub
    ? `gh api repos/${found} --jq .id`
    : `glab api projects/${encodeURIComponent(found)} | jq .id`;
  return (
    <FormDialog title="New CI rule" action="Create rule" run={create} onClose={onClose}>
      <SelectField
        label="Host"
        value={issuer}
        options={issuers.map((each) => [each, hostOf(each)])}
        onChoose={setIssuer}
      />
      <TextField label="Repository" placeholder="owner/name" value={name} onType={setName} isFirst />
      <TextField
        label="Its number"
        value={number}
        onType={setNumber}
        note="Names can be registered again; numbers can't. Look it up:"
      />
      <Code text={lookUp} name="how to look it up" />
      <SelectField label="Scope" value={scope} options={scopes} onChoose={setScope} />
      {scope === 'write' && (
        <TextField label={isOfGithub ? 'Branch' : 'Protected branch'} value={branch} onType={setBranch} />
      )}
      <SelectField
        label="Repo"
        value={repo}
        options={[['', 'All'], ...repos.map((each) => [each, each] as const)]}
        onChoose={setRepo}
      />
    </FormDialog>
  );
}
