import { useState } from 'preact/hooks';
import { formatAge, formatObjects } from '../../cli/render.ts';
import type { SessionBody } from '../../lambda/http/management/sessions/schemas.ts';
import type { SubscriptionBody } from '../../lambda/http/management/tenants/schemas.ts';
import type { TokenBody } from '../../lambda/http/management/tokens/schemas.ts';
import { History } from './chart.tsx';
import { Connect } from './connect.tsx';
import type { CountProgress } from './count-progress.ts';
import { Downloads } from './downloads.tsx';
import { Limit } from './limit.tsx';
import { LimitNotice, LostNotice } from './notices.tsx';
import { Objects } from './objects.tsx';
import { useNow } from './poll.ts';
import { Repos } from './repos.tsx';
import { Reservations } from './reservations.tsx';
import { type TenantView, useCountProgress, useTenant } from './subscription.ts';
import { Tokens } from './tokens.tsx';
import { UsageFigures } from './usage.tsx';

/** How much, of how much, how old is that, when is it full, what is to be done, which repo is it. */
export function TenantPage({ tenant, session }: { tenant: string; session: SessionBody }) {
  const view = useTenant(tenant);
  const nowMs = useNow(10_000);
  const { body, refusal } = view;
  const isCounting =
    view.countingSinceMs !== undefined || (body !== undefined && (body.refreshing || body.usage === null));
  const progress = useCountProgress(tenant, isCounting);
  const mayManage = session.kind === 'operator' || session.scope === 'manage';
  return (
    <main>
      {session.kind === 'operator' && (
        <p class="back">
          <a href="#/">All tenants</a>
        </p>
      )}
      <div class="title">
        <h1>{tenant}</h1>
        {body?.plan && <span class="pill">{body.plan}</span>}
        <div class="end">
          {body && <Age body={body} isCounting={isCounting} progress={progress} nowMs={nowMs} />}
          {mayManage && (
            <button
              type="button"
              onClick={view.countAgain}
              disabled={!body || view.countingSinceMs !== undefined}
            >
              Count again
            </button>
          )}
        </div>
      </div>
      <LostNotice view={view} onAsk={view.askNow} />
      {refusal !== undefined && (
        <p class="notice bad">{refusal} Look at the address, or sign in with another token.</p>
      )}
      {body ? (
        <Figures
          key={tenant}
          view={view}
          progress={progress}
          body={body}
          nowMs={nowMs}
          session={session}
          mayManage={mayManage}
        />
      ) : (
        refusal === undefined && <Loading />
      )}
    </main>
  );
}

function Figures(props: {
  view: TenantView & { askNow: () => void };
  progress: CountProgress | undefined;
  body: SubscriptionBody;
  nowMs: number;
  session: SessionBody;
  mayManage: boolean;
}) {
  const { view, progress, body, nowMs, session, mayManage } = props;
  const { tenant, usage, repos } = body;
  const isEmpty = usage !== null && usage.objectCount === 0 && repos.length === 0;
  const objectCount = usage?.objectCount ?? 0;
  const [tokens, setTokens] = useState<readonly TokenBody[]>([]);
  return (
    <>
      <LimitNotice body={body} />
      <UsageFigures body={body} progress={progress} nowMs={nowMs} />
      {isEmpty && <Connect tenant={tenant} isFirst />}
      {!isEmpty && view.history && <History tenant={tenant} history={view.history} />}
      {usage && view.reservations && view.reservations.items.length > 0 && (
        <Reservations
          tenant={tenant}
          listed={view.reservations}
          reservedBytes={usage.reservedBytes}
          nowMs={nowMs}
        />
      )}
      {repos.length > 0 && <Repos body={body} isForSome={session.repos !== null} nowMs={nowMs} />}
      {view.downloads && view.downloads.items.length > 0 && (
        <Downloads tenant={tenant} listed={view.downloads} session={session} tokens={tokens} />
      )}
      <div class={mayManage && objectCount > 0 ? 'pair' : ''}>
        {objectCount > 0 && (
          <Objects
            tenant={tenant}
            objectCount={objectCount}
            countedAt={usage?.countedAt ?? ''}
            repos={session.repos}
            mayDelete={mayManage}
            nowMs={nowMs}
          />
        )}
        {mayManage && <Tokens tenant={tenant} session={session} nowMs={nowMs} onRead={setTokens} />}
      </div>
      {session.kind === 'operator' && (
        <Limit
          tenant={tenant}
          limitBytes={body.limitBytes}
          storedBytes={usage?.storedBytes ?? 0}
          onChanged={view.askNow}
        />
      )}
      {!isEmpty && <Connect tenant={tenant} isFirst={false} />}
    </>
  );
}

/** How old the figures are and where they come from; or how far a count is. */
function Age(props: {
  body: SubscriptionBody;
  isCounting: boolean;
  progress: CountProgress | undefined;
  nowMs: number;
}) {
  const { body, isCounting, progress, nowMs } = props;
  if (!isCounting) {
    const { usage } = body;
    return (
      usage && <p class="note">Counted {formatAge(usage.countedAt, nowMs)}, from the bucket's own listing</p>
    );
  }
  return (
    <p class="note counting">
      <span>
        <span role="status">{progress?.isPaused ? 'Count paused' : 'Counting'}</span>
        {progress
          ? ` ${progress.what}: ${(progress.share * 100).toFixed(1)}\u00a0%, ${formatObjects(progress.objectCount)} so far`
          : '…'}
      </span>
      <progress aria-label="Count" {...(progress && { value: progress.share, max: 1 })} />
    </p>
  );
}

/** The page's shape, of the same heights. */
function Loading() {
  return (
    <div class="loading" aria-busy="true">
      <p class="hidden" role="status">
        Loading
      </p>
      <div class="usage">
        <p class="figure">
          <span class="number">–</span>
        </p>
        <div class="bar">
          <svg aria-hidden="true">
            <rect class="track" width="100%" height="100%" />
          </svg>
        </div>
        <div class="legend" />
      </div>
      <div class="card tall" />
      <div class="card tall" />
    </div>
  );
}
