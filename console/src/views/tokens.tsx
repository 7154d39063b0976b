import { useEffect, useRef, useState } from 'preact/hooks';
import { formatAge } from '../../../cli/render.ts';
import type { SessionBody } from '../../../lambda/api/contract/sessions.ts';
import type { TokenBody } from '../../../lambda/api/contract/tokens.ts';
import { askPages, type Listed } from '../api.ts';
import { Card, CsvButton, Cut, Problem } from '../parts.tsx';
import { change } from '../requests.ts';
import { scopeText, tokenName } from '../text.ts';
import { Confirm, FormDialog } from './dialog.tsx';
import { TextField } from './fields.tsx';
import { GrantFields, grantBody, lifetimes, usualGrant } from './grant.tsx';
import { usePages } from './pager.tsx';
import { Secret } from './secret.tsx';
import { TableHead } from './table-head.tsx';
import { expiryText } from './view-texts.ts';

const pagesMax = 10;
const rowsMax = 10;

const csvFields = [
  'tokenId',
  'label',
  'user',
  'scope',
  'repos',
  'createdAt',
  'expiresAt',
  'lastUsedAt',
] as const;

/** Tokens, the newest first. */
export function Tokens(props: {
  tenant: string;
  session: SessionBody;
  repos: readonly string[];
  nowMs: number;
}) {
  const { tenant, session, repos, nowMs } = props;
  const path = `/v1/tenants/${tenant}/tokens`;
  const [listed, setListed] = useState<Listed<TokenBody>>();
  const [isMaking, setIsMaking] = useState(false);
  const [secret, setSecret] = useState<string>();
  const [revoked, setRevoked] = useState<TokenBody>();
  const [problem, setProblem] = useState<string>();
  const open = useRef<HTMLButtonElement>(null);
  const read = async () => {
    const found = await askPages<TokenBody, 'tokens'>(path, 'tokens', { pagesMax });
    if (found) setListed({ ...found, items: [...found.items].reverse() });
    setProblem(found ? undefined : "Couldn't load the tokens. Reload the page.");
  };
  useEffect(() => void read(), [tenant]);
  const focusOpen = () => requestAnimationFrame(() => open.current?.focus());
  const tokens = listed?.items ?? [];
  const { shown, pager } = usePages(tokens, rowsMax);
  return (
    <Card
      title="Tokens"
      action={
        <>
          <CsvButton name="tokens" tenant={tenant} rows={tokens} fields={csvFields} />
          <button ref={open} type="button" onClick={() => setIsMaking(true)}>
            New token
          </button>
        </>
      }
    >
      <Problem text={problem} />
      {tokens.length > 0 && (
        <TokenTable tokens={shown} ownId={session.tokenId} nowMs={nowMs} onRevoke={setRevoked} />
      )}
      {listed?.items.length === 0 && <p class="soft">No tokens yet. Create one to give someone access.</p>}
      {pager}
      {listed && <Cut isCut={listed.isCut} count={tokens.length} />}
      {isMaking && (
        <NewToken
          path={path}
          repos={repos}
          onClose={() => setIsMaking(false)}
          onMade={(made) => {
            setIsMaking(false);
            setSecret(made);
            void read();
          }}
        />
      )}
      {secret !== undefined && (
        <Secret
          title="Your new token"
          name="the new token"
          secret={secret}
          onDone={() => {
            setSecret(undefined);
            focusOpen();
          }}
        />
      )}
      {revoked && (
        <Revoke
          path={path}
          token={revoked}
          isOwn={revoked.tokenId === session.tokenId}
          onClose={() => setRevoked(undefined)}
          onRevoked={() => {
            setRevoked(undefined);
            void read();
            focusOpen();
          }}
        />
      )}
    </Card>
  );
}

function TokenTable(props: {
  tokens: readonly TokenBody[];
  ownId: string | null;
  nowMs: number;
  onRevoke: (token: TokenBody) => void;
}) {
  const { tokens, ownId, nowMs, onRevoke } = props;
  return (
    <table>
      <TableHead
        columns={[
          ['Token'],
          ['User', 'wide'],
          ['Scope', 'middle'],
          ['Repos', 'wide'],
          ['Expires', 'right'],
          ['Last used', 'right wide'],
          ['Revoke', 'act'],
        ]}
      />
      <tbody>
        {tokens.map((token) => (
          <TokenRow
            key={token.tokenId}
            token={token}
            isOwn={token.tokenId === ownId}
            nowMs={nowMs}
            onRevoke={() => onRevoke(token)}
          />
        ))}
      </tbody>
    </table>
  );
}

function TokenRow(props: { token: TokenBody; isOwn: boolean; nowMs: number; onRevoke: () => void }) {
  const { token, isOwn, nowMs, onRevoke } = props;
  const { tokenId, user, scope, repos, createdAt, expiresAt, lastUsedAt } = token;
  const expiry = expiryText(expiresAt, nowMs);
  const uses = repos?.join(', ') ?? 'all';
  return (
    <tr>
      <th scope="row">
        {tokenName(token)} {isOwn && <span class="pill">this session</span>}
        <p class="note">
          <code>{tokenId.slice(0, 8)}</code> · created {formatAge(createdAt, nowMs)}
        </p>
        <p class="note narrow">
          {scopeText[scope]}, {uses}
        </p>
      </th>
      <td class="wide cut">{user ?? <span class="soft">none</span>}</td>
      <td class="middle">
        <span class="pill">{scope}</span>
      </td>
      <td class="wide cut soft">{uses}</td>
      <td class={expiry.isNear ? 'right is-near' : 'right'}>{expiry.text}</td>
      <td class="right wide soft">{lastUsedAt === null ? 'never' : formatAge(lastUsedAt, nowMs)}</td>
      <td class="right act">
        <button type="button" class="quiet" aria-label={`Revoke ${tokenName(token)}`} onClick={onRevoke}>
          Revoke
        </button>
      </td>
    </tr>
  );
}

function Revoke(props: {
  path: string;
  token: TokenBody;
  isOwn: boolean;
  onClose: () => void;
  onRevoked: () => void;
}) {
  const { path, token, isOwn, onClose, onRevoked } = props;
  const run = async () => {
    const { problem } = await change(`${path}/${token.tokenId}`, { method: 'DELETE' });
    if (problem === undefined) onRevoked();
    return problem;
  };
  return (
    <Confirm title={`Revoke ${tokenName(token)}?`} action="Revoke" run={run} onClose={onClose}>
      <p>It stops working immediately. {isOwn && "It's your own: you'll be signed out."}</p>
    </Confirm>
  );
}

function NewToken(props: {
  path: string;
  repos: readonly string[];
  onClose: () => void;
  onMade: (secret: string) => void;
}) {
  const { path, repos, onClose, onMade } = props;
  const [label, setLabel] = useState('');
  const [user, setUser] = useState('');
  const [grant, setGrant] = useState(usualGrant);
  const create = async () => {
    const body = { label: label.trim() || null, user: user.trim() || null, ...grantBody(grant) };
    const done = await change<{ token: string }>(path, { method: 'POST', body });
    if (done.body) onMade(done.body.token);
    return done.problem;
  };
  return (
    <FormDialog title="New token" action="Create token" run={create} onClose={onClose}>
      <TextField label="Label" value={label} onType={setLabel} isFirst />
      <TextField
        label="User"
        value={user}
        onType={setUser}
        note="Owner of its locks, such as a name or e-mail address."
      />
      <GrantFields grant={grant} onGrant={setGrant} repos={repos} times={lifetimes} />
    </FormDialog>
  );
}
