import { useRef } from 'preact/hooks';
import { formatAge } from '../../../cli/render.ts';
import type { TokenBody } from '../../../lambda/frame/contract/tokens.ts';
import { Button, Card, CsvButton, Cut, Problem, Title } from '../parts.tsx';
import { change, useList } from '../requests.ts';
import { namedRepos, scopeText, tokenName } from '../text.ts';
import type { ViewProps } from '../view-props.ts';
import { useDialog } from './dialog.tsx';
import { grantBody, grantFields, usualGrant } from './grant.ts';
import { usePages } from './pages.tsx';
import { cardsOf } from './subject-parts.ts';
import { actColumn, type Column, Table } from './table.tsx';
import { expiryText } from './view-texts.ts';

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

function Tokens({ tenant, session, repos, nowMs }: ViewProps & { repos: readonly string[] }) {
  const list = useList('GET /v1/tenants/{tenant}/tokens', 'tokens', { tenant, pagesMax });
  const { body: listed, refusal, read } = list;
  const open = useRef<HTMLButtonElement>(null);
  const { dialog, ask, tellSecret } = useDialog();
  const tokens = [...(listed?.items ?? [])].reverse();
  const { shown, pager } = usePages(tokens, rowsMax);
  const create = () =>
    ask({
      title: 'New token',
      action: 'Create token',
      start: { label: '', user: '', ...usualGrant },
      fields: (values) => [
        { name: 'label', label: 'Label' },
        { name: 'user', label: 'User', note: 'Owner of its locks, such as a name or e-mail address.' },
        ...grantFields(values, { repos, mayNever: true }),
      ],
      run: ({ label, user, ...grant }) => {
        const body = { label: label.trim() || null, user: user.trim() || null, ...grantBody(grant) };
        return change('POST /v1/tenants/{tenant}/tokens', { tenant, body }, ({ token }) => {
          tellSecret('Your new token', 'the new token', token);
          read();
        });
      },
    });
  const revoke = (token: TokenBody) =>
    ask({
      title: `Revoke ${tokenName(token)}?`,
      action: 'Revoke',
      text: (
        <p>
          It stops working immediately.{' '}
          {token.tokenId === session.tokenId && "It's your own: you'll be signed out."}
        </p>
      ),
      run: () =>
        change('DELETE /v1/tenants/{tenant}/tokens/{tokenId}', { tenant, tokenId: token.tokenId }, () => {
          read();
          // What was pressed goes with its row.
          requestAnimationFrame(() => open.current?.focus());
        }),
    });
  return (
    <Card
      title="Tokens"
      action={
        <>
          <CsvButton name="tokens" tenant={tenant} rows={tokens} fields={csvFields} />
          <Button text="New token" own={open} onPress={create} />
        </>
      }
    >
      <Problem text={refusal} />
      {tokens.length > 0 && (
        <Table
          columns={[...columnsOf(session.tokenId, nowMs), actColumn('Revoke', tokenName, revoke)]}
          rows={shown}
          keyOf={({ tokenId }) => tokenId}
        />
      )}
      {listed?.items.length === 0 && <p class="soft">No tokens yet. Create one to give someone access.</p>}
      {pager}
      {listed && <Cut isCut={listed.isCut} count={tokens.length} />}
      {dialog}
    </Card>
  );
}

const usesOf = ({ repos, prefix }: TokenBody) =>
  [...(repos ?? ['all']), prefix && `${prefix}…`].filter(Boolean).join(', ');

const columnsOf = (ownId: string | null, nowMs: number): Column<TokenBody>[] => [
  {
    name: 'Token',
    of: (token) => (
      <>
        {tokenName(token)} {token.tokenId === ownId && <span class="pill">this session</span>}
        <p class="note">
          <code>{token.tokenId.slice(0, 8)}</code> · created {formatAge(token.createdAt, nowMs)}
        </p>
        <p class="note narrow">
          {token.user && `${token.user}: `}
          {scopeText[token.scope]}, {usesOf(token)}
        </p>
      </>
    ),
  },
  { name: 'User', kind: 'wide cut', of: ({ user }) => user ?? <span class="soft">none</span> },
  { name: 'Scope', kind: 'middle', of: ({ scope }) => <span class="pill">{scope}</span> },
  { name: 'Repos', kind: 'wide cut soft', of: usesOf },
  {
    name: 'Expires',
    kind: 'right',
    of: ({ expiresAt }) => {
      const { text, isNear } = expiryText(expiresAt, nowMs);
      return <span class={isNear ? 'is-near' : ''}>{text}</span>;
    },
  },
  {
    name: 'Last used',
    kind: 'right wide soft',
    of: ({ lastUsedAt }) => (lastUsedAt === null ? 'never' : formatAge(lastUsedAt, nowMs)),
  },
];
