import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { formatAge } from '../../../cli/render.ts';
import type { HistoryBody } from '../../../lambda/api/contract/history.ts';
import type { StatusBody } from '../../../lambda/api/contract/status.ts';
import type { TenantBody } from '../../../lambda/api/contract/tenants.ts';
import { formatAddress, parseAddress, tenantAddress } from '../address.ts';
import { ask, askPages, type Listed, usePoll } from '../api.ts';
import { isInGroup, sortTenants, stateOf, type TenantGroup, tenantGroups } from '../figures.ts';
import { go } from '../navigation.ts';
import { Bar, Choice, CsvButton, Cut, Problem, Title } from '../parts.tsx';
import { statusLine, useStatus } from '../service-status.ts';
import { bytesText, dayText, notDone, percentText, scanText } from '../text.ts';
import type { ServiceViewProps } from '../view-props.ts';
import { limitOf, type TypedLimit } from './limit.ts';
import { LimitField } from './limit-form.tsx';
import { usePages } from './pager.tsx';
import { TableHead } from './table-head.tsx';

const pagesMax = 10;
const againMs = 60_000;
const rowsMax = 20;
/** The list waits so long for the status, so that nothing moves. */
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
    const found = await askPages<TenantBody, 'tenants'>('/v1/tenants', 'tenants', { pagesMax });
    setHasFailed(!found);
    if (found) setListed({ ...found, items: sortTenants(found.items) });
    return againMs;
  }, '');
  return { listed, hasFailed };
}

/** Today's rejected pushes and the forecast of the tenants that are shown: the list doesn't have them. */
function useOutlook(tenants: readonly TenantBody[]): ReadonlyMap<string, HistoryBody> {
  const [known, setKnown] = useState<ReadonlyMap<string, HistoryBody>>(new Map());
  const names = tenants.filter(({ limitBytes }) => limitBytes !== null).map(({ tenant }) => tenant);
  useEffect(() => {
    const today = new Date().toISOString().slice(0, 10);
    for (const tenant of names)
      void ask<HistoryBody>(`/v1/tenants/${tenant}/history?from=${today}`).then((outcome) => {
        if (outcome.kind === 'ok') setKnown((before) => new Map(before).set(tenant, outcome.body));
      });
  }, [names.join(' ')]);
  return known;
}

/** The operator's page: whether anything failed, and all tenants, the fullest first. */
export function Tenants({ address, nowMs }: ServiceViewProps) {
  const { listed, hasFailed } = useTenants();
  const { body: status } = useStatus();
  const [isLate, setIsLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setIsLate(true), statusMsMax);
    return () => clearTimeout(timer);
  }, []);
  const isShown = status !== undefined || isLate;
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
        action={
          <button
            type="button"
            class="primary"
            aria-expanded={isMaking}
            onClick={() => setIsMaking(!isMaking)}
          >
            New tenant
          </button>
        }
      />
      {isShown && <StatusLine body={status} nowMs={nowMs} />}
      {isMaking && <NewTenant />}
      <Problem text={hasFailed ? problemText(tenants) : undefined} />
      {isShown && listed && <List listed={listed} address={address} nowMs={nowMs} />}
    </main>
  );
}

/** The status in a line, which leads to all of it. */
function StatusLine({ body, nowMs }: { body: StatusBody | null | undefined; nowMs: number }) {
  const { state, text, note } = statusLine(body);
  return (
    <p class={state === 'act' ? 'notice near' : 'notice'} role="status">
      <span>
        <i class={`light ${state}`} aria-hidden="true" />
        <a href={formatAddress({ ...parseAddress(''), view: 'status' })}>
          <strong>{text}</strong>
        </a>
      </span>
      <span class="note">
        {note}
        {body && ` · checked ${formatAge(body.checkedAt, nowMs)}`}
      </span>
    </p>
  );
}

function List(props: { listed: Listed<TenantBody>; address: ServiceViewProps['address']; nowMs: number }) {
  const { listed, address, nowMs } = props;
  const tenants = listed.items;
  const { find = '', of = 'all' } = address.query;
  const group = tenantGroups.find((each) => each === of) ?? 'all';
  const filter = (query: Record<string, string>) =>
    go({ ...address, query: { find, of: group === 'all' ? '' : group, ...query } });
  const wanted = find.trim().toLowerCase();
  const matching = tenants.filter((body) => isInGroup(body, group, nowMs) && body.tenant.includes(wanted));
  const { shown, pager } = usePages(matching, rowsMax);
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
        <Groups
          tenants={tenants}
          nowMs={nowMs}
          group={group}
          onChoose={(each) => filter({ of: each === 'all' ? '' : each })}
        />
        <div class="end">
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
      </div>
      {shown.length > 0 && <TenantTable tenants={shown} nowMs={nowMs} />}
      {shown.length === 0 && <p class="soft">{tenants.length === 0 ? 'None yet.' : 'Not found.'}</p>}
      {pager}
      <Cut isCut={listed.isCut} count={tenants.length} />
    </section>
  );
}

/** Tenants that somebody may have to look at, by why. What is empty is not offered. */
function Groups(props: {
  tenants: readonly TenantBody[];
  nowMs: number;
  group: TenantGroup;
  onChoose: (group: TenantGroup) => void;
}) {
  const { tenants, nowMs, group, onChoose } = props;
  const count = (of: TenantGroup) => tenants.filter((body) => isInGroup(body, of, nowMs)).length;
  const groups = tenantGroups.filter((each) => each === 'all' || each === group || count(each) > 0);
  if (groups.length === 1) return null;
  return (
    <Choice
      name="group"
      label="Which tenants"
      values={groups}
      value={group}
      textOf={(each) => `${groupText[each]} ${scanText(count(each))}`}
      onChoose={onChoose}
    />
  );
}

function TenantTable({ tenants, nowMs }: { tenants: readonly TenantBody[]; nowMs: number }) {
  const outlook = useOutlook(tenants);
  return (
    <table class="tenants">
      <TableHead
        columns={[
          ['Tenant'],
          ['Plan', 'wide'],
          ['Used', 'share-head'],
          ['Percent', 'right wide', true],
          ['Stored', 'right'],
          ['Limit', 'right middle'],
          ['Full on', 'right wide'],
          ['Updated', 'right wide'],
        ]}
      />
      <tbody>
        {tenants.map((body) => (
          <TenantRow key={body.tenant} body={body} outlook={outlook.get(body.tenant)} nowMs={nowMs} />
        ))}
      </tbody>
    </table>
  );
}

function TenantRow(props: { body: TenantBody; outlook: HistoryBody | undefined; nowMs: number }) {
  const { body, outlook, nowMs } = props;
  const { tenant, plan, usage, limitBytes, deleting } = body;
  const usedBytes = usage === null ? 0 : usage.storedBytes + usage.reservedBytes;
  const share = usage && limitBytes !== null ? percentText(usedBytes, limitBytes) : '';
  const state = stateOf(body);
  const today = outlook?.days.at(-1);
  const rejected = today ? today.refusals + today.repoRefusals : 0;
  const fullOn = outlook?.forecast.fullOn ?? null;
  return (
    <tr>
      <th scope="row">
        <a href={formatAddress(tenantAddress(tenant))}>{tenant}</a>
        {deleting && <span class="pill">being deleted</span>}
        {rejected > 0 && (
          <a class={`pill ${state === 'over' ? 'bad' : 'near'}`} href={formatAddress(tenantAddress(tenant))}>
            {rejected} rejected today
          </a>
        )}
        {usage && (
          <p class="note narrow">
            {share && `${share}, `}updated {formatAge(usage.scannedAt, nowMs)}
          </p>
        )}
      </th>
      <td class="wide soft">{plan ?? '–'}</td>
      <td class="soft">
        {usage && limitBytes !== null ? (
          <Bar
            isSmall
            isNear={state === 'near'}
            parts={{ stored: usage.storedBytes, reserved: usage.reservedBytes, limit: limitBytes }}
            label={share}
          />
        ) : usage ? (
          'no limit'
        ) : (
          'not scanned yet'
        )}
      </td>
      <td class="right wide">{share}</td>
      <td class="right strong">{usage ? bytesText(usage.storedBytes) : '–'}</td>
      <td class="right soft middle">{limitBytes === null ? '–' : bytesText(limitBytes)}</td>
      <td class="right wide soft">{state === 'over' ? 'full' : fullOn === null ? '–' : dayText(fullOn)}</td>
      <td class="right wide soft">{usage ? formatAge(usage.scannedAt, nowMs) : '–'}</td>
    </tr>
  );
}

function NewTenant() {
  const [tenant, setTenant] = useState('');
  const [typed, setTyped] = useState<TypedLimit>({ number: '', unit: 'GiB', isNone: false });
  const [problem, setProblem] = useState<string>();
  const first = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => first.current?.focus(), []);
  const make = async (event: Event) => {
    event.preventDefault();
    const limitBytes = limitOf(typed);
    if (limitBytes === undefined) return setProblem('Type a limit, such as 50 GiB, or choose No limit.');
    const body = { tenant: tenant.trim(), limitBytes };
    const outcome = await ask<TenantBody>('/v1/tenants', { method: 'POST', body });
    if (outcome.kind === 'ok') return go(tenantAddress(outcome.body.tenant));
    setProblem(outcome.kind === 'refused' ? outcome.detail : notDone);
  };
  return (
    <form class="card fields" onSubmit={(event) => void make(event)}>
      <label for="tenant-name">Name</label>
      <input
        id="tenant-name"
        ref={first}
        type="text"
        required
        spellcheck={false}
        autocomplete="off"
        value={tenant}
        onInput={({ currentTarget }) => setTenant(currentTarget.value)}
      />
      <LimitField label="Storage limit" typed={typed} onType={setTyped} />
      <button type="submit" class="primary">
        Create tenant
      </button>
      <Problem text={problem} />
    </form>
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
