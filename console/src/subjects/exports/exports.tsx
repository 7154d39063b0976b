import { useState } from 'preact/hooks';
import type { ExportBody } from '../../../../lambda/subjects/exports/contract.ts';
import { Button, Card, Problem } from '../../parts.tsx';
import { change, useRead } from '../../requests.ts';
import { bytesText, namedRepos, percentText, timeText } from '../../text.ts';
import type { SubjectParts, ViewProps } from '../../view-props.ts';
import { useDialog } from '../../views/dialog.tsx';
import { Line } from '../../views/table.tsx';
import { exportText, isOpen } from './export-text.ts';

const busyMs = 5_000;
const shownMax = 20;

const useExports = (tenant: string) =>
  useRead('GET /v1/tenants/{tenant}/exports', {
    tenant,
    query: { limit: shownMax },
    againMs: ({ exports }) => (exports.some(isOpen) ? busyMs : null),
  });

/** Archives of all objects, or of a repo. Nothing, if this server makes none. */
function Exports({ tenant, session, body: { repos: all }, nowMs }: ViewProps) {
  const repos = namedRepos(all);
  const isForSome = session.repos !== null;
  const { body, read } = useExports(tenant);
  const { dialog, ask, tell } = useDialog();
  const [problem, setProblem] = useState<string>();
  if (!body) return null;
  const start = () =>
    ask({
      title: 'Start an export',
      action: 'Start',
      start: { repo: isForSome ? (repos[0] ?? '') : '', format: 'tar' },
      fields: () => [
        {
          name: 'repo',
          label: 'Repo',
          options: [
            ...(isForSome ? [] : [['', 'All repos'] as const]),
            ...repos.map((each) => [each, each] as const),
          ],
        },
        { name: 'format', label: 'Format', options: ['tar', 'zip'].map((each) => [each, each]) },
      ],
      run: ({ repo, format }) => {
        const body = { format: format as ExportBody['format'], ...(repo !== '' && { repo }) };
        return change('POST /v1/tenants/{tenant}/exports', { tenant, body }, read);
      },
    });
  const show = async ({ exportId }: ExportBody) =>
    setProblem(
      await change('GET /v1/tenants/{tenant}/exports/{exportId}', { tenant, exportId }, (found) =>
        tell({ title: 'Download', text: <Archives body={found} /> }),
      ),
    );
  const remove = ({ exportId }: ExportBody) =>
    ask({
      title: 'Remove this export?',
      action: 'Remove',
      text: <p>Its archive is deleted. Your objects stay.</p>,
      run: () => change('DELETE /v1/tenants/{tenant}/exports/{exportId}', { tenant, exportId }, read),
    });
  return (
    <Card
      title="Exports"
      note="archives of your objects"
      action={<Button text="Start an export" onPress={start} />}
    >
      <Problem text={problem} />
      {body.exports.map((each) => {
        const isDone = each.state === 'done';
        const kept = isDone ? `, kept until ${timeText(each.expiresAt, nowMs)}` : '';
        return (
          <Line
            key={each.exportId}
            name={`${each.repo ?? 'All repos'}, ${timeText(each.createdAt, nowMs)}`}
            note={exportText(each) + kept}
          >
            {isDone && <Button text="Download" kind="quiet" onPress={() => show(each)} />}
            {(isDone || isOpen(each)) && (
              <Button text={isDone ? 'Remove' : 'Cancel'} kind="quiet" onPress={() => remove(each)} />
            )}
          </Line>
        );
      })}
      {body.exports.length === 0 && <p class="soft">None yet. An archive doesn't count as usage.</p>}
      {dialog}
    </Card>
  );
}

function Archives({ body: { archives } }: { body: ExportBody }) {
  return (
    <>
      <ul>
        {archives.map(({ name, sizeBytes, url }) => (
          <li key={name}>
            <a href={url ?? ''} download={name}>
              {name}
            </a>
            , {bytesText(sizeBytes)}
          </li>
        ))}
      </ul>
      <p class="note">These links work for about half an hour.</p>
    </>
  );
}

/** Those that aren't done. */
function useInProgress({ tenant }: ViewProps) {
  const { body } = useExports(tenant);
  const open = body?.exports.filter(isOpen) ?? [];
  return (
    open.length > 0 &&
    open.map(({ exportId, repo, progress }) => (
      <p key={exportId}>
        Exporting {repo ?? 'all repos'} <span class="soft">{percentText(progress.share ?? 0, 1)}</span>
      </p>
    ))
  );
}

export const exports: SubjectParts = { settings: { 60: Exports }, useInProgress };
