import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { formatUntil } from '../../cli/render.ts';
import type { SubscriptionBody } from '../../lambda/contract.ts';
import type { SessionBody } from '../../lambda/frame/contract/sessions.ts';
import {
  type Address,
  formatAddress,
  mayOpen,
  ownAddresses,
  parseAddress,
  serviceViews,
  tenantAddress,
  tenantViews,
  titleOf,
  type ViewName,
} from './address.ts';
import { ask, useNow } from './api.ts';
import { useAddress } from './navigation.ts';
import * as overviewParts from './overview-parts.ts';
import { Bar, Mark, Title } from './parts.tsx';
import { type Live, useTenant } from './subscription.ts';
import { bytesText, percentText, whoText } from './text.ts';
import type { OverviewPart, ServiceViewProps, ViewProps } from './view-props.ts';
import { loadView, viewNow } from './views.ts';
import './shell.css';

type Chrome = ServiceViewProps & { onSignedOut: () => void };

export function Console({ session, onSignedOut }: { session: SessionBody; onSignedOut: () => void }) {
  const mayManage = session.kind === 'operator' || session.scope === 'manage';
  const address = useAddress({ tenant: session.tenant, mayManage });
  const nowMs = useNow(10_000);
  const chrome = { session, address, mayManage, nowMs, onSignedOut };
  return address.tenant === null ? (
    <Frame {...chrome}>
      <Service {...chrome} />
    </Frame>
  ) : (
    <Tenant key={address.tenant} {...chrome} tenant={address.tenant} />
  );
}

function Service(props: ServiceViewProps) {
  const { View, hasFailed } = useView(props.address.view);
  // A view of the service has no tenant, and asks for none.
  if (View) return <View {...(props as ViewProps)} />;
  return <Loading address={props.address} hasFailed={hasFailed} />;
}

function Tenant(props: Chrome & { tenant: string }) {
  const { tenant, address } = props;
  const live = useTenant(tenant, asks);
  const { body, refusal } = live;
  const { View, hasFailed } = useView(address.view);
  return (
    <Frame {...props} body={body}>
      <LostNotice live={live} />
      {refusal !== undefined ? (
        <main>
          <Title address={address} />
          <p class="notice bad">{refusal}</p>
        </main>
      ) : View && body ? (
        <View {...props} live={live} body={body} />
      ) : (
        <Loading address={address} hasFailed={hasFailed} />
      )}
    </Frame>
  );
}

/** That there was no answer. What is shown stays. */
function LostNotice({ live }: { live: Live }) {
  const nowMs = useNow(1000);
  const { againAtMs, body, askNow } = live;
  if (againAtMs === undefined) return null;
  return (
    <section class="notice lost" aria-label="Connection">
      <p>
        <strong role="status">Can't reach the server.</strong> {body && 'Showing older data. '}
        <span>Retrying {formatUntil(new Date(Math.max(againAtMs, nowMs)).toISOString(), nowMs)}.</span>
      </p>
      <button type="button" onClick={askNow}>
        Retry now
      </button>
    </section>
  );
}

const asks = Object.fromEntries(
  Object.entries<OverviewPart>(overviewParts).flatMap(([name, { ask }]) => (ask ? [[name, ask]] : [])),
);

/** A view, as soon as it is here. */
function useView(view: ViewName) {
  const [failed, setFailed] = useState<ViewName>();
  const [, setLoaded] = useState<ViewName>();
  const View = viewNow(view);
  useEffect(() => {
    if (!View)
      loadView(view).then(
        () => setLoaded(view),
        () => setFailed(view),
      );
  }, [view]);
  return { View, hasFailed: failed === view };
}

/** The page's shape, of the same heights. */
function Loading({ address, hasFailed }: { address: Address; hasFailed: boolean }) {
  if (hasFailed)
    return (
      <main>
        <Title address={address} />
        <div class="notice bad">
          <p role="alert">Couldn't load this page. Check your connection, then reload.</p>
          <button type="button" onClick={() => location.reload()}>
            Reload
          </button>
        </div>
      </main>
    );
  return (
    <main aria-busy="true">
      <Title address={address} isShape />
      <p class="hidden" role="status">
        Loading
      </p>
      {address.view === 'overview' && (
        <div class="usage">
          <p class="figure">
            <span class="number">–</span>
          </p>
          <Bar parts={{ stored: 0, reserved: 0, limit: 0 }} label="loading" />
          <div class="legend" />
        </div>
      )}
      <div class="card tall" />
    </main>
  );
}

/** Head and links around a view. */
function Frame(props: Chrome & { body?: SubscriptionBody | undefined; children: ComponentChildren }) {
  const { session, address, body, children, onSignedOut } = props;
  const { tenant } = address;
  const signOut = async () => {
    const outcome = await ask('DELETE /v1/session', {});
    if (outcome.kind !== 'unreachable') onSignedOut();
  };
  return (
    <div class="frame">
      <header class="row tight apart">
        <p class="row tight brand">
          <Mark />
          {session.kind === 'operator' ? (
            <a href={formatAddress(parseAddress(''))}>lfs-quota</a>
          ) : (
            'lfs-quota'
          )}
          {tenant !== null && (
            <>
              <span class="soft" aria-hidden="true">
                /
              </span>
              <a href={formatAddress(tenantAddress(tenant))}>{tenant}</a>
            </>
          )}
          {body?.plan && <span class="pill">{body.plan}</span>}
        </p>
        <p class="row tight who note">
          <span>{whoText(session)}</span>
          <button type="button" class="quiet" onClick={() => void signOut()}>
            Sign out
          </button>
        </p>
      </header>
      <Links {...props} />
      {children}
    </div>
  );
}

const icons: Readonly<Record<ViewName, string>> = {
  tenants: 'M3 14V6l5-3.5L13 6v8zM6.5 14v-4h3v4',
  overview: 'M3 14V8M6.3 14V3M9.7 14V9.5M13 14V5.5',
  repos: 'M3.5 2.5h9v11h-9zM6 2.5v11M3.5 10.5h9',
  objects: 'M8 1.8l5.5 3v6.4L8 14.2l-5.5-3V4.8zM2.5 4.8L8 7.9l5.5-3.1M8 7.9v6.3',
  activity: 'M1.5 8.5h3l2-6 3 11 2-5h3',
  access:
    'M1.5 13.5c0-5 9-5 9 0M3.8 5.2a2.2 2.2 0 1 0 4.4 0 2.2 2.2 0 1 0-4.4 0M11 3.2a2.2 2.2 0 0 1 0 4M12.5 9.7c1.3.6 2 1.8 2 3.8',
  settings: 'M2 5h6M12 5h2M2 11h2M8 11h6M8 3v4M6 9v4',
  ...Object.fromEntries(ownAddresses.map(({ view, icon }) => [view, icon])),
};

/** The views that this reader can open. */
function Links(props: Chrome & { body?: SubscriptionBody | undefined }) {
  const { session, address, mayManage, body } = props;
  const { tenant } = address;
  const views: readonly ViewName[] =
    tenant === null
      ? serviceViews
      : tenantViews.filter((view) => mayOpen(view, { tenant: session.tenant, mayManage }));
  const current = address.view === 'repo' ? 'repos' : address.view;
  return (
    <div>
      <nav aria-label="Views">
        {views.map((view) => (
          <a
            key={view}
            href={formatAddress({ ...parseAddress(''), tenant, view })}
            {...(view === current && { 'aria-current': 'page' })}
          >
            <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
              <path d={icons[view] ?? ''} />
            </svg>
            {titleOf({ view, repo: null })}
          </a>
        ))}
      </nav>
      {address.view !== 'overview' && body && <SmallUsage body={body} />}
    </div>
  );
}

/** How much of the limit is used, where the figure isn't in view. */
function SmallUsage({ body: { usage, limitBytes } }: { body: SubscriptionBody }) {
  if (usage === null || limitBytes === null) return null;
  const usedBytes = usage.storedBytes + usage.reservedBytes;
  return (
    <section class="so-much note" aria-label="Usage">
      <p>
        <strong>{bytesText(usedBytes)}</strong> of {bytesText(limitBytes)}
      </p>
      <Bar
        isSmall
        parts={{ stored: usage.storedBytes, reserved: usage.reservedBytes, limit: limitBytes }}
        label={percentText(usedBytes, limitBytes)}
      />
    </section>
  );
}
