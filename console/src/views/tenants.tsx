import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { formatAge } from '../../../cli/render.ts';
import type { StatusBody } from '../../../lambda/api/contract/status.ts';
import type { TenantBody } from '../../../lambda/api/contract/tenants.ts';
import { ask, askPages, type Listed, usePoll } from '../api.ts';
import { isInGroup, sortTenants, type TenantGroup, tenantGroups } from '../figures.ts';
import { LimitField, readLimit, type TypedLimit } from '../limit-field.tsx';
import { Bar, Card, Choice, CsvButton, Cut, Problem, Title } from '../parts.tsx';
import { bytesText, notDone, percentText, scanText } from '../text.ts';
import type { ServiceViewProps } from '../view-props.ts';
import { StatusCard } from './status.tsx';

const pagesMax = 10;
const againMs = 60_000;
/** The list waits so long for the status. */
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

/** All tenants, and the status beside them. undefined: not known yet. `status` null: it could not be read. */
function useTenants() {
  const [listed, setListed] = useState<Listed<TenantBody>>();
  const [hasFailed, setHasFailed] = useState(false);
  const [status, setStatus] = useState<StatusBody | null>();
  const readNow = usePoll(async () => {
    const asked = ask<StatusBody>('/v1/status').then((outcome) => {
      setStatus(outcome.kind === 'ok' ? outcome.body : null);
    });
    const found = await askPages<TenantBody, 'tenants'>('/v1/tenants', 'tenants', { pagesMax });
    // Both at once, so that nothing moves. Where the store is silent, that takes longer.
    await Promise.race([asked, new Promise((resolve) => setTimeout(resolve, statusMsMax))]);
    setHasFailed(!found);
    if (found) setListed({ ...found, items: sortTenants(found.items) });
    return againMs;
  }, '');
  return { listed, hasFailed, status, readNow };
}

/** The operator's page: what failed, and all tenants, the fullest first. */
export function Tenants({ address, nowMs }: ServiceViewProps) {
  const { listed, hasFailed, status, readNow } = useTenants();
  const tenants = listed?.items;
  const [wanted, setWanted] = useState('');
  const [group, setGroup] = useState<TenantGroup>('all');
  const [isMaking, setIsMaking] = useState(false);
  const inGroup = tenants?.filter((body) => isInGroup(body, group, nowMs)) ?? [];
  const shown = inGroup.filter(({ tenant }) => tenant.includes(wanted.trim().toLowerCase()));
  const storedBytes = tenants?.reduce((sum, { usage }) => sum + (usage?.storedBytes ?? 0), 0) ?? 0;
  const title = <Title address={address} />;
  if (!listed && !hasFailed)
    return (
      <main>
        {title}
        <p class="soft" role="status">
          Loading…
        </p>
      </main>
    );
  return (
    <main>
      {title}
      <StatusCard body={status} nowMs={nowMs} />
      <Card
        title={
          tenants ? `${scanText(tenants.length)} ${tenants.length === 1 ? 'tenant' : 'tenants'}` : 'Unknown'
        }
        note={`fullest first, together ${bytesText(storedBytes)} stored`}
        action={
          <>
            <input
              type="search"
              aria-label="Find a tenant"
              placeholder="Find a tenant"
              value={wanted}
              onInput={({ currentTarget }) => setWanted(currentTarget.value)}
            />
            <CsvButton
              name="tenants"
              rows={(tenants ?? []).map(flat)}
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
            <button type="button" aria-expanded={isMaking} onClick={() => setIsMaking(!isMaking)}>
              New tenant
            </button>
          </>
        }
      >
        {isMaking && (
          <NewTenant
            onMade={() => {
              setIsMaking(false);
              readNow();
            }}
          />
        )}
        <Problem text={hasFailed ? problemText(tenants) : undefined} />
        {tenants && <Groups tenants={tenants} nowMs={nowMs} group={group} onChoose={setGroup} />}
        {shown.length > 0 && <TenantTable tenants={shown} nowMs={nowMs} />}
        {tenants?.length === 0 && <p class="soft">None yet.</p>}
        {listed && <Cut isCut={listed.isCut} count={listed.items.length} />}
      </Card>
    </main>
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
  return (
    <table class="tenants">
      <thead>
        <tr>
          <th scope="col">Tenant</th>
          <th scope="col" class="wide">
            Plan
          </th>
          <th scope="col" class="middle">
            Used
          </th>
          <th scope="col" class="right middle">
            <span class="hidden">Percent</span>
          </th>
          <th scope="col" class="right">
            Stored
          </th>
          <th scope="col" class="right">
            Limit
          </th>
          <th scope="col" class="right wide">
            Objects
          </th>
          <th scope="col" class="right wide">
            Updated
          </th>
        </tr>
      </thead>
      <tbody>
        {tenants.map((body) => (
          <TenantRow key={body.tenant} body={body} nowMs={nowMs} />
        ))}
      </tbody>
    </table>
  );
}

function TenantRow({ body, nowMs }: { body: TenantBody; nowMs: number }) {
  const { tenant, plan, usage, limitBytes, deleting } = body;
  const usedBytes = usage === null ? 0 : usage.storedBytes + usage.reservedBytes;
  const share = usage && limitBytes !== null ? percentText(usedBytes, limitBytes) : '';
  return (
    <tr>
      <th scope="row">
        <a href={`#${tenant}`}>{tenant}</a>
        {deleting && <span class="pill">being deleted</span>}
        {usage && (
          <p class="note narrow">
            {share && `${share}, `}updated {formatAge(usage.scannedAt, nowMs)}
          </p>
        )}
      </th>
      <td class="wide soft">{plan ?? '–'}</td>
      <td class="middle soft">
        {usage && limitBytes !== null ? (
          <Bar
            isSmall
            parts={{ stored: usage.storedBytes, reserved: usage.reservedBytes, limit: limitBytes }}
            label={share}
          />
        ) : usage ? (
          'no limit'
        ) : (
          'not scanned yet'
        )}
      </td>
      <td class="right middle">{share}</td>
      <td class="right strong">{usage ? bytesText(usage.storedBytes) : '–'}</td>
      <td class="right soft">{limitBytes === null ? '–' : bytesText(limitBytes)}</td>
      <td class="right wide soft">{scanText(usage?.objectCount ?? null)}</td>
      <td class="right wide soft">{usage ? formatAge(usage.scannedAt, nowMs) : '–'}</td>
    </tr>
  );
}

function NewTenant({ onMade }: { onMade: () => void }) {
  const [tenant, setTenant] = useState('');
  const [typed, setTyped] = useState<TypedLimit>({ size: '', isUnlimited: false });
  const [problem, setProblem] = useState<string>();
  const first = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => first.current?.focus(), []);
  const make = async (event: Event) => {
    event.preventDefault();
    const limit = readLimit(typed);
    if ('problem' in limit) return setProblem(limit.problem);
    const body = { tenant: tenant.trim(), limitBytes: limit.bytes };
    const outcome = await ask('/v1/tenants', { method: 'POST', body });
    if (outcome.kind === 'ok') return onMade();
    setProblem(outcome.kind === 'refused' ? outcome.detail : notDone);
  };
  return (
    <form class="fields" onSubmit={(event) => void make(event)}>
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
      <LimitField typed={typed} onType={setTyped} />
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
