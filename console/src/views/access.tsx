import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { formatAge } from '../../../cli/render.ts';
import type { TokenBody } from '../../../lambda/api/contract/tokens.ts';
import { ask, askPages, type Listed } from '../api.ts';
import { Card, Code, CsvButton, Cut, Problem, Title } from '../parts.tsx';
import { notDone, scopeText, tokenName } from '../text.ts';
import type { ViewProps } from '../view-props.ts';

const pagesMax = 10;
type Scope = TokenBody['scope'];

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

/** Who gets in, and who not any more. */
export function Access({ tenant, session, address, nowMs }: ViewProps) {
  return (
    <main>
      <Title address={address} />
      <Tokens tenant={tenant} session={session} nowMs={nowMs} />
    </main>
  );
}

function Tokens({ tenant, session, nowMs }: Pick<ViewProps, 'tenant' | 'session' | 'nowMs'>) {
  const path = `/v1/tenants/${tenant}/tokens`;
  const [listed, setListed] = useState<Listed<TokenBody>>();
  const tokens = listed?.items;
  const [isMaking, setIsMaking] = useState(false);
  const [secret, setSecret] = useState<string>();
  const [problem, setProblem] = useState<string>();
  const open = useRef<HTMLButtonElement>(null);
  const fresh = useRef<HTMLParagraphElement>(null);
  useLayoutEffect(() => fresh.current?.focus(), [secret]);
  const read = async () => {
    const found = await askPages<TokenBody, 'tokens'>(path, 'tokens', { pagesMax });
    if (found) setListed(found);
    else setProblem("Couldn't load the tokens. Reload the page.");
  };
  useEffect(() => void read(), [tenant]);
  const revoke = async ({ tokenId }: TokenBody) => {
    const outcome = await ask(`${path}/${tokenId}`, { method: 'DELETE' });
    setProblem(outcome.kind === 'ok' || outcome.kind === 'refused' ? undefined : notDone);
    await read();
    open.current?.focus();
  };
  const close = () => {
    setIsMaking(false);
    setSecret(undefined);
    requestAnimationFrame(() => open.current?.focus());
  };
  return (
    <Card
      title="Tokens"
      action={
        <>
          <CsvButton name="tokens" tenant={tenant} rows={tokens ?? []} fields={csvFields} />
          <button
            ref={open}
            type="button"
            aria-expanded={isMaking}
            onClick={() => (isMaking ? close() : setIsMaking(true))}
          >
            New token
          </button>
        </>
      }
    >
      {secret !== undefined && (
        <div class="fresh">
          <p role="status" tabIndex={-1} ref={fresh}>
            Copy your token now. You won't see it again.
          </p>
          <Code text={secret} name="the new token" />
          <button type="button" onClick={close}>
            Done
          </button>
        </div>
      )}
      {isMaking && secret === undefined && (
        <NewToken
          path={path}
          onMade={(made) => {
            setSecret(made);
            void read();
          }}
        />
      )}
      <Problem text={problem} />
      <ul class="tokens">
        {tokens?.map((token) => (
          <TokenRow
            key={token.tokenId}
            token={token}
            isOwn={token.tokenId === session.tokenId}
            nowMs={nowMs}
            onRevoke={() => void revoke(token)}
          />
        ))}
      </ul>
      {tokens?.length === 0 && <p class="soft">No tokens yet. Create one to give someone access.</p>}
      {listed && <Cut isCut={listed.isCut} count={listed.items.length} />}
    </Card>
  );
}

function TokenRow(props: { token: TokenBody; isOwn: boolean; nowMs: number; onRevoke: () => void }) {
  const { token, isOwn, nowMs, onRevoke } = props;
  const { scope, repos, lastUsedAt, expiresAt } = token;
  const [isAsking, setIsAsking] = useState(false);
  const sure = useRef<HTMLButtonElement>(null);
  // What was pressed is replaced: the keyboard goes on from here.
  useLayoutEffect(() => sure.current?.focus(), [isAsking]);
  const isExpired = expiresAt !== null && Date.parse(expiresAt) <= nowMs;
  const used = lastUsedAt === null ? 'never used' : `used ${formatAge(lastUsedAt, nowMs)}`;
  return (
    <li>
      <div>
        <p>
          <span class="name">{tokenName(token)}</span> <span class="pill">{scopeText[scope]}</span>
          {isOwn && <span class="pill">you</span>}
        </p>
        <p class="note">
          {isExpired ? 'expired' : used}
          {repos && `, for ${repos.join(', ')}`}
        </p>
      </div>
      {isAsking ? (
        <span class="sure">
          <button type="button" class="bad" ref={sure} onClick={onRevoke}>
            Revoke{isOwn ? ', sign out' : ' now'}
          </button>
          <button type="button" class="quiet" onClick={() => setIsAsking(false)}>
            Keep
          </button>
        </span>
      ) : (
        <button
          type="button"
          class="quiet"
          aria-label={`Revoke ${tokenName(token)}`}
          onClick={() => setIsAsking(true)}
        >
          Revoke
        </button>
      )}
    </li>
  );
}

const lifetimes = [
  ['', 'Never'],
  ['604800', '7 days'],
  ['7776000', '90 days'],
  ['31536000', '365 days'],
] as const;

function NewToken({ path, onMade }: { path: string; onMade: (secret: string) => void }) {
  const [label, setLabel] = useState('');
  const [scope, setScope] = useState<Scope>('read');
  const [seconds, setSeconds] = useState('');
  const [problem, setProblem] = useState<string>();
  const first = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => first.current?.focus(), []);
  const make = async (event: Event) => {
    event.preventDefault();
    const body = {
      scope,
      label: label.trim() || null,
      expiresInSeconds: seconds === '' ? null : Number(seconds),
    };
    const outcome = await ask<{ token: string }>(path, { method: 'POST', body });
    if (outcome.kind === 'ok') return onMade(outcome.body.token);
    setProblem(outcome.kind === 'refused' ? outcome.detail : notDone);
  };
  return (
    <form class="fields" onSubmit={(event) => void make(event)}>
      <label for="token-label">Label</label>
      <input
        id="token-label"
        ref={first}
        type="text"
        maxLength={100}
        autocomplete="off"
        value={label}
        onInput={({ currentTarget }) => setLabel(currentTarget.value)}
      />
      <label for="token-scope">Scope</label>
      <select
        id="token-scope"
        value={scope}
        onChange={({ currentTarget }) => setScope(currentTarget.value as Scope)}
      >
        <option value="read">read</option>
        <option value="write">read and write</option>
        <option value="manage">manage</option>
      </select>
      <label for="token-time">Expires</label>
      <select
        id="token-time"
        value={seconds}
        onChange={({ currentTarget }) => setSeconds(currentTarget.value)}
      >
        {lifetimes.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
      <button type="submit" class="primary">
        Create token
      </button>
      <Problem text={problem} />
    </form>
  );
}
