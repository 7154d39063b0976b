import { useState } from 'preact/hooks';
import { formatAge, formatCount } from '../../../../cli/render.ts';
import type { AnswerTo } from '../../../../cli/routes.ts';
import { Button, Problem } from '../../parts.tsx';
import { change, useRead } from '../../requests.ts';
import { bytesText } from '../../text.ts';
import type { RepoProps, SubjectParts } from '../../view-props.ts';
import { Done, useDialog } from '../../views/dialog.tsx';
import { Find, useCursors } from '../../views/pages.tsx';
import { actColumn, type Column, Table } from '../../views/table.tsx';

type File = AnswerTo<'GET /v1/tenants/{tenant}/repos/{repo}/files'>['files'][number];
type Plan = AnswerTo<'DELETE /v1/tenants/{tenant}/repos/{repo}/files'>;

const rowsMax = 20;

/** The files of a repo of theirs, a page of the server's at a time. */
function Files(props: RepoProps) {
  const { tenant, repo, session, nowMs } = props;
  const [prefix, setPrefix] = useState('');
  const { page, toFirst, pagerOf } = useCursors(rowsMax);
  const { deleted, remove, dialog, done, problem } = useDeletes(props);
  const asked = { tenant, repo: repo.repo, query: { ...page, prefix: prefix || undefined } };
  const { body, refusal } = useRead('GET /v1/tenants/{tenant}/repos/{repo}/files', asked);
  const files = body?.files.filter(({ name }) => !deleted.includes(name)) ?? [];
  const mayDelete = session.scope !== 'read';
  const only = (next: string) => {
    setPrefix(next);
    toFirst();
  };
  const nameOf = ({ name }: File) => name;
  const columns: Column<File>[] = [
    { name: 'File', of: nameOf },
    {
      name: 'Stored',
      kind: 'wide soft',
      of: ({ storedAt }) => (storedAt ? formatAge(storedAt, nowMs) : '–'),
    },
    { name: 'Size', kind: 'right strong', of: ({ bytes }) => bytesText(bytes) },
    ...(mayDelete ? [actColumn('Delete', nameOf, ({ name }) => remove({ name }, [name]))] : []),
  ];
  return (
    <section class="card" aria-label="Files">
      <div class="head">
        <Find label="Find files" placeholder="Start of name" onFind={only} />
        {prefix && <Button text="Show all" kind="quiet" onPress={() => only('')} />}
        {mayDelete && prefix && files.length > 0 && (
          <Button text="Delete all…" kind="bad" onPress={() => remove({ prefix }, files.map(nameOf))} />
        )}
      </div>
      <Done text={done} />
      <Problem text={problem ?? refusal} />
      {files.length > 0 && <Table columns={columns} rows={files} keyOf={nameOf} />}
      {body && files.length === 0 && (
        <p class="soft">
          {/* The server leaves out deleted ones of what it looks at. */}
          {body.nextCursor
            ? 'No files on this page.'
            : prefix
              ? 'No file matches. Show all.'
              : 'No files yet.'}
        </p>
      )}
      {pagerOf(files.length, body?.nextCursor)}
      {dialog}
    </section>
  );
}

/** Deletes files, once it's confirmed what that would delete. For some seconds more, lists have them. */
function useDeletes({ tenant, repo: { repo } }: RepoProps) {
  const [deleted, setDeleted] = useState<readonly string[]>([]);
  const [done, setDone] = useState('');
  const [problem, setProblem] = useState<string>();
  const { dialog, ask } = useDialog();
  const remove = async (which: { name?: string; prefix?: string }, shown: readonly string[]) => {
    const send = (dryRun: boolean, then: (plan: Plan) => void) =>
      change(
        'DELETE /v1/tenants/{tenant}/repos/{repo}/files',
        { tenant, repo, query: { ...which, dryRun } },
        then,
      );
    const confirm = ({ fileCount, bytes }: Plan) => {
      const what = which.name ?? `${formatCount(fileCount)} that start with ${which.prefix}`;
      ask({
        title: 'Delete files?',
        action: 'Delete',
        text: (
          <>
            <p>{what}</p>
            <p>Frees {bytesText(bytes)}. You can't undo this, or reuse a name for a day.</p>
          </>
        ),
        run: () =>
          send(false, () => {
            setDeleted([...deleted, ...shown]);
            setDone(`Deleted ${what}.`);
          }),
      });
    };
    setProblem(await send(true, confirm));
  };
  return { deleted, remove, dialog, done, problem };
}

export const files: SubjectParts = { tabs: { files: Files } };
