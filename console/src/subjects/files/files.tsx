import { useState } from 'preact/hooks';
import { formatAge } from '../../../../cli/render.ts';
import type { AnswerTo } from '../../../../cli/routes.ts';
import { Button, Problem } from '../../parts.tsx';
import { change, useRead } from '../../requests.ts';
import { bytesText } from '../../text.ts';
import type { RepoProps, SubjectParts } from '../../view-props.ts';
import { Done, useDialog } from '../../views/dialog.tsx';
import { Find, useCursors } from '../../views/pages.tsx';
import { actColumn, type Column, Table } from '../../views/table.tsx';

type File = AnswerTo<'GET /v1/tenants/{tenant}/repos/{repo}/files'>['files'][number];

const rowsMax = 20;

/** The files of a repo of theirs, a page of the server's at a time. */
function Files({ tenant, repo: { repo }, session, nowMs }: RepoProps) {
  const [prefix, setPrefix] = useState('');
  /** Deletes that have started: the list shows their files for some seconds. */
  const [deleted, setDeleted] = useState<readonly string[]>([]);
  const [said, setSaid] = useState('');
  const { page, toFirst, pagerOf } = useCursors(rowsMax);
  const { dialog, ask } = useDialog();
  const asked = { tenant, repo, query: { ...page, prefix: prefix || undefined } };
  const { body, refusal } = useRead('GET /v1/tenants/{tenant}/repos/{repo}/files', asked);
  const files = body?.files.filter(({ name }) => !deleted.includes(name)) ?? [];
  const only = (next: string) => {
    setPrefix(next);
    toFirst();
  };
  const remove = ({ name, bytes }: File) =>
    ask({
      title: 'Delete this file?',
      action: 'Delete',
      text: (
        <>
          <p class="cut">{name}</p>
          <p>Frees {bytesText(bytes)}. You can't undo this, and can't reuse its name for about a day.</p>
        </>
      ),
      run: () =>
        change('DELETE /v1/tenants/{tenant}/repos/{repo}/files', { tenant, repo, query: { name } }, () => {
          setDeleted([...deleted, name]);
          setSaid('Deleted 1 file.');
        }),
    });
  const columns: Column<File>[] = [
    { name: 'File', of: ({ name }) => name },
    {
      name: 'Stored',
      kind: 'wide soft',
      of: ({ storedAt }) => (storedAt ? formatAge(storedAt, nowMs) : '–'),
    },
    { name: 'Size', kind: 'right strong', of: ({ bytes }) => bytesText(bytes) },
    ...(session.scope === 'read' ? [] : [actColumn<File>('Delete', ({ name }) => name, remove)]),
  ];
  return (
    <section class="card" aria-label="Files">
      <div class="head">
        <Find label="Find files" placeholder="Start of the name" onFind={only} />
        {prefix && <Button text="Show all" kind="quiet" onPress={() => only('')} />}
      </div>
      <Done text={said} />
      <Problem text={refusal} />
      {files.length > 0 && <Table columns={columns} rows={files} keyOf={({ name }) => name} />}
      {body && files.length === 0 && (
        <p class="soft">{prefix ? 'No file matches. Show all.' : 'No files yet.'}</p>
      )}
      {pagerOf(files.length, body?.nextCursor)}
      {dialog}
    </section>
  );
}

export const files: SubjectParts = { tabs: { files: Files } };
