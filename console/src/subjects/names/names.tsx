import { useState } from 'preact/hooks';
import { formatAge, formatObjects, formatUntil } from '../../../../cli/render.ts';
import type { AnswerTo } from '../../../../cli/routes.ts';
import { Button, Card, Choice, Code, Problem } from '../../parts.tsx';
import { change, useRead } from '../../requests.ts';
import { bytesText } from '../../text.ts';
import type { RepoProps, SubjectParts } from '../../view-props.ts';
import { Choose, Chosen } from '../../views/objects.tsx';
import { Find, useCursors } from '../../views/pages.tsx';
import { type Column, Table } from '../../views/table.tsx';

const route = 'GET /v1/tenants/{tenant}/repos/{repo}/names';
type Named = AnswerTo<typeof route>['names'][number];
/** What can be chosen. */
type Row = Named & { readonly repo: string };

const rowsMax = 20;
const uses = { all: 'All', used: 'In use', unused: 'Not in use' } as const;
type Use = keyof typeof uses;
const useNames = Object.keys(uses) as Use[];

/** Objects of a repo by the paths that a clone has sent, a page of the server's at a time. */
function Paths(props: RepoProps) {
  const { tenant, nowMs } = props;
  const { repo } = props.repo;
  const [search, setSearch] = useState('');
  const [use, setUse] = useState<Use>('all');
  const { page, toFirst, pagerOf } = useCursors(rowsMax);
  const inUse = use === 'all' ? undefined : use === 'used';
  const query = { ...page, search: search || undefined, inUse };
  const { body, refusal, read } = useRead(route, { tenant, repo, query });
  if (refusal !== undefined) return <HowToSend tenant={tenant} repo={repo} why={refusal} />;
  return (
    <section class="card" aria-label="Paths">
      <div class="head">
        <Find
          label="Find paths"
          placeholder="Path or oid"
          onFind={(text) => {
            setSearch(text);
            toFirst();
          }}
        />
        <Choice
          label="Which objects"
          values={useNames}
          textOf={(each) => uses[each]}
          value={use}
          onChoose={(next) => {
            setUse(next);
            toFirst();
          }}
        />
      </div>
      {body && (
        <p class="note">
          {formatObjects(body.sum.objectCount)}, {bytesText(body.sum.bytes)} · names from{' '}
          {formatAge(body.madeAt, nowMs)}
          {body.branch !== null && `, ${body.branch} at ${body.commit?.slice(0, 8)}`}
        </p>
      )}
      {body?.names.length === 0 && <p class="soft">None.</p>}
      <NameTable {...props} names={body?.names ?? []} onChanged={read} />
      {pagerOf(body?.names.length ?? 0, body?.nextCursor)}
    </section>
  );
}

function HowToSend({ tenant, repo, why }: { tenant: string; repo: string; why: string }) {
  const lines = [
    `git clone --mirror YOUR-REPOSITORY-URL ${repo}.git`,
    `lfs-quota repo names ${tenant} ${repo} --clone ${repo}.git`,
  ];
  return (
    <Card title="Paths">
      <p class="soft">{why}</p>
      <p>Objects are stored by hash. These commands name them:</p>
      <Code name="the commands" text={lines.join('\n')} />
    </Card>
  );
}

/** Objects, with what can be done to them. What was chosen stays so on other pages. */
function NameTable(props: RepoProps & { names: readonly Named[]; onChanged: () => void }) {
  const { tenant, names, nowMs, mayManage, session, onChanged } = props;
  const { repo } = props.repo;
  const [chosen, onChosen] = useState<ReadonlyMap<string, Row>>(new Map());
  const [problem, setProblem] = useState<string>();
  const [keptCount, setKeptCount] = useState(0);
  const keep = async (oid: string) => {
    const asked = { tenant, repo, oid };
    setProblem(await change('POST /v1/tenants/{tenant}/repos/{repo}/objects/{oid}/keep', asked, onChanged));
    setKeptCount((count) => count + 1);
  };
  const pathOf = (row: Row) => {
    const { oid, path, state, dueAt } = row;
    const name = path ?? oid.slice(0, 12);
    return (
      <>
        {mayManage && (
          <Choose name={name} row={row} chosen={chosen} onChosen={onChosen} isFixed={state !== 'stored'} />
        )}{' '}
        {path ?? <span class="soft">in no commit</span>}{' '}
        {state !== 'stored' && (
          <span class="pill">
            {state === 'deleting' ? 'being deleted' : 'deleted'}{' '}
            {state === 'scheduled' && dueAt && formatUntil(dueAt, nowMs)}
          </span>
        )}
        {state === 'scheduled' && session.scope !== 'read' && (
          <Button text="Keep" kind="quiet" label={`Keep ${name}`} onPress={() => keep(oid)} />
        )}
        <p class="note">
          <code title={oid}>{oid.slice(0, 12)}…</code>
        </p>
      </>
    );
  };
  const columns: Column<Row>[] = [
    { name: 'Path', of: pathOf },
    { name: 'In use by', kind: 'middle', of: ({ inUseBy }) => inUseBy ?? 'no branch or tag' },
    {
      name: 'Commit',
      kind: 'wide soft',
      of: ({ committedAt }) => (committedAt ? formatAge(committedAt, nowMs) : '–'),
    },
    { name: 'Size', kind: 'right strong', of: ({ sizeBytes }) => bytesText(sizeBytes) },
  ];
  const used = [...chosen.values()].filter(({ inUseBy }) => inUseBy !== null);
  const text = `${formatObjects(used.length)} in use, such as by ${used[0]?.inUseBy}: its checkouts fail then.`;
  return (
    <>
      <Problem text={problem} />
      {names.length > 0 && (
        <Table
          columns={columns}
          rows={names.map((name) => ({ ...name, repo }))}
          keyOf={({ oid }) => oid}
          rowKind={({ oid }) => (chosen.has(oid) ? 'is-chosen' : '')}
        />
      )}
      <Chosen
        // What it says of the last delete isn't so any more.
        key={keptCount}
        tenant={tenant}
        chosen={chosen}
        onChosen={onChosen}
        nowMs={nowMs}
        onMarked={onChanged}
        {...(used.length > 0 && { inUse: { repo, text } })}
      />
    </>
  );
}

export const names: SubjectParts = { tabs: { paths: Paths } };
