import { useEffect, useState } from 'preact/hooks';
import { formatAge } from '../../../cli/render.ts';
import type { TenantBody } from '../../../lambda/frame/contract/tenants.ts';
import { formatAddress, tenantAddress } from '../address.ts';
import { askPages, type Listed, usePoll } from '../api.ts';
import { isInGroup, sortTenants, stateOf, type TenantGroup, tenantGroups } from '../figures.ts';
import { go } from '../navigation.ts';
import { Bar, Button, Choice, CsvButton, Cut, Problem, Title } from '../parts.tsx';
import { change } from '../requests.ts';
import { bytesText, percentText, scanText } from '../text.ts';
import type { ServiceViewProps, TenantsPart } from '../view-props.ts';
import { Ask } from './dialog.tsx';
import { limitOf, type TypedLimit } from './limit.ts';
import { LimitField } from './limit-form.tsx';
import { usePages } from './pages.tsx';
import { subjectParts } from './subject-parts.ts';
import { type Column, Table } from './table.tsx';

const pagesMax = 10;
const againMs = 60_000;
const rowsMax = 20;
/** The list waits so long for what is above it, so that nothing moves. */
const statusMsMax = 2_000;

const problemText = (tenants: readonly unknown[] | undefined) =>
  `Can't read the tenants.${tenants ? ' Showing older data.' : ''} Retrying every minute.`;

/** One row of what was never counted has no figures. */
const flat = (body: TenantBody) => ({
  storedBytes: null,
  reservedBytes: null,
  objectCount: null,
  scannedAt: null,
  ...body.usage,
  ...body,
});

/** All tenants. undefined: not known yet. */
function useTenants() {
  const [listed, setListed] = useState<Listed<TenantBody>>();
  const [hasFailed, setHasFailed] = useState(false);
  usePoll(async () => {
    const outcome = await askPages('GET /v1/tenants', 'tenants', { pagesMax });
    setHasFailed(outcome.kind !== 'ok');
    if (outcome.kind === 'ok') setListed({ ...outcome.body, items: sortTenants(outcome.body.items) });
    return againMs;
  }, '');
  return { listed, hasFailed };
}

const ofShown = subjectParts.flatMap(({ useTenants }) => useTenants ?? []);
const hooks = subjectParts.flatMap(({ useTenantsHead }) => useTenantsHead ?? []);

/** The operator's page: whether anything failed, and all tenants, the fullest first. */
export function Tenants({ address, nowMs }: ServiceViewProps) {
  const { listed, hasFailed } = useTenants();
  const heads = hooks.map((useTenantsHead) => useTenantsHead(nowMs));
  const [isLate, setIsLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setIsLate(true), statusMsMax);
    return () => clearTimeout(timer);
  }, []);
  const isShown = heads.every(({ isKnown }) => isKnown) || isLate;
  const tenants = listed?.items;
  const [isMaking, setIsMaking] = useState(false);
  const storedBytes = tenants?.reduce((sum, { usage }) => sum + (usage?.storedBytes ?? 0), 0) ?? 0;
  return (
    <main>
      <Title
        address={address}
        note={
          <p class="note" role="status">
            {tenants
              ? `${scanText(tenants.length)} ${tenants.length === 1 ? 'tenant' : 'tenants'}, together ${bytesText(storedBytes)}`
              : !hasFailed && 'Loading…'}
          </p>
        }
        action={<Button text="New tenant" kind="primary" onPress={() => setIsMaking(true)} />}
      />
      {isShown && heads.map(({ head }) => head)}
      {isMaking && <NewTenant onClose={() => setIsMaking(false)} />}
      <Problem text={hasFailed ? problemText(tenants) : undefined} />
      {isShown && listed && <List listed={listed} address={address} nowMs={nowMs} />}
    </main>
  );
}

function List(props: { listed: Listed<TenantBody>; address: ServiceViewProps['address']; nowMs: number }) {
  const { listed, address, nowMs } = props;
  const tenants = listed.items;
  const { find = '', of = 'all' } = address.query;
  const group = tenantGroups.find((each) => each === of) ?? 'all';
  const count = (each: TenantGroup) => tenants.filter((body) => isInGroup(body, each, nowMs)).length;
  // What is empty isn't offered.
  const groups = tenantGroups.filter((each) => each === 'all' || each === group || count(each) > 0);
  const filter = (query: Record<string, string>) =>
    go({ ...address, query: { find, of: group === 'all' ? '' : group, ...query } });
  const wanted = find.trim().toLowerCase();
  const matching = tenants.filter((body) => isInGroup(body, group, nowMs) && body.tenant.includes(wanted));
  const { shown, pager } = usePages(matching, rowsMax);
  const parts = ofShown.map((useTenants) => useTenants(shown));
  return (
    <section class="card" aria-label="Tenants">
      <div class="head">
        <input
          type="search"
          aria-label="Find a tenant"
          placeholder="Find a tenant"
          value={find}
          onInput={({ currentTarget }) => filter({ find: currentTarget.value })}
        />
        {groups.length > 1 && (
          <Choice
            label="Which tenants"
            values={groups}
            value={group}
            textOf={(each) => `${groupText[each]} ${scanText(count(each))}`}
            onChoose={(each) => filter({ of: each === 'all' ? '' : each })}
          />
        )}
        <CsvButton
          name="tenants"
          rows={tenants.map(flat)}
          fields={[
            'tenant',
            'plan',
            'limitBytes',
            'storedBytes',
            'reservedBytes',
            'objectCount',
            'scannedAt',
            'createdAt',
            'deleting',
          ]}
        />
      </div>
      {shown.length > 0 && (
        <Table kind="tenants" columns={columnsOf(parts, nowMs)} rows={shown} keyOf={({ tenant }) => tenant} />
      )}
      {shown.length === 0 && <p class="soft">{tenants.length === 0 ? 'None yet.' : 'Not found.'}</p>}
      {pager}
      <Cut isCut={listed.isCut} count={tenants.length} />
    </section>
  );
}

const shareOf = ({ usage, limitBytes }: TenantBody) =>
  usage && limitBytes !== null ? percentText(usage.storedBytes + usage.reservedBytes, limitBytes) : '';

const columnsOf = (parts: readonly TenantsPart[], nowMs: number): Column<TenantBody>[] => {
  const own: TenantsPart['columns'] = {
    10: { name: 'Tenant', of: (body) => <TenantName body={body} parts={parts} nowMs={nowMs} /> },
    20: { name: 'Plan', kind: 'wide soft', of: ({ plan }) => plan ?? '–' },
    30: { name: 'Used', kind: 'share-head soft', of: (body) => <Used body={body} /> },
    40: { name: 'Percent', kind: 'right wide', isHidden: true, of: shareOf },
    50: {
      name: 'Stored',
      kind: 'right strong',
      of: ({ usage }) => (usage ? bytesText(usage.storedBytes) : '–'),
    },
    60: {
      name: 'Limit',
      kind: 'right middle soft',
      of: ({ limitBytes }) => (limitBytes === null ? '–' : bytesText(limitBytes)),
    },
    80: {
      name: 'Updated',
      kind: 'right wide soft',
      of: ({ usage }) => (usage ? formatAge(usage.scannedAt, nowMs) : '–'),
    },
  };
  return Object.values(Object.assign(own, ...parts.map(({ columns }) => columns)));
};

function TenantName(props: { body: TenantBody; parts: readonly TenantsPart[]; nowMs: number }) {
  const { body, parts, nowMs } = props;
  const { tenant, usage, deleting } = body;
  const share = shareOf(body);
  return (
    <>
      <a href={formatAddress(tenantAddress(tenant))}>{tenant}</a>
      {deleting && <span class="pill">being deleted</span>}
      {parts.map(({ markOf }) => markOf(body))}
      {usage && (
        <p class="note narrow">
          {share && `${share}, `}updated {formatAge(usage.scannedAt, nowMs)}
        </p>
      )}
    </>
  );
}

function Used({ body }: { body: TenantBody }) {
  const { usage, limitBytes } = body;
  if (!usage) return 'not scanned yet';
  if (limitBytes === null) return 'no limit';
  return (
    <Bar
      isSmall
      isNear={stateOf(body) === 'near'}
      parts={{ stored: usage.storedBytes, reserved: usage.reservedBytes, limit: limitBytes }}
      label={shareOf(body)}
    />
  );
}

function NewTenant({ onClose }: { onClose: () => void }) {
  const [typed, setTyped] = useState<TypedLimit>({ number: '', unit: 'GiB', isNone: false });
  const make = async (tenant: string) => {
    const limitBytes = limitOf(typed);
    if (limitBytes === undefined) return 'Type a limit, such as 50 GiB, or choose No limit.';
    return change('POST /v1/tenants', { body: { tenant, limitBytes } }, (made) =>
      go(tenantAddress(made.tenant)),
    );
  };
  return (
    <Ask
      title="New tenant"
      action="Create tenant"
      start={{ tenant: '' }}
      fields={() => [{ name: 'tenant', label: 'Name' }]}
      isReady={({ tenant }) => tenant.trim() !== ''}
      run={({ tenant }) => make(tenant.trim())}
      onClose={onClose}
    >
      <LimitField label="Storage limit" typed={typed} onType={setTyped} />
    </Ask>
  );
}

const groupText: Readonly<Record<TenantGroup, string>> = {
  all: 'All',
  over: 'Full',
  near: 'Near the limit',
  uncounted: 'Never scanned',
  old: 'Scan overdue',
  deleting: 'Being deleted',
};
