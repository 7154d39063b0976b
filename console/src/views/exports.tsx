import { useState } from 'preact/hooks';
import type { ExportBody } from '../../../lambda/api/contract/exports.ts';
import { Card, Problem } from '../parts.tsx';
import { change, useRead } from '../requests.ts';
import { bytesText, timeText } from '../text.ts';
import { Confirm, Dialog, FormDialog } from './dialog.tsx';
import { SelectField } from './fields.tsx';
import { exportText, openStates } from './view-texts.ts';

const busyMs = 5_000;
const shownMax = 20;

/** Archives of all objects, or of a repo. Nothing, if this server makes none. */
export function Exports(props: {
  tenant: string;
  repos: readonly string[];
  isForSome: boolean;
  nowMs: number;
}) {
  const { tenant, repos, isForSome, nowMs } = props;
  const path = `/v1/tenants/${tenant}/exports`;
  const { body, read } = useRead<{ exports: ExportBody[] }>(`${path}?limit=${shownMax}`, {
    againMs: ({ exports }) => (exports.some(({ state }) => openStates.includes(state)) ? busyMs : null),
  });
  const [isStarting, setIsStarting] = useState(false);
  const [shown, setShown] = useState<ExportBody>();
  const [removed, setRemoved] = useState<ExportBody>();
  const [problem, setProblem] = useState<string>();
  if (!body) return null;
  const show = async ({ exportId }: ExportBody) => {
    const found = await change<ExportBody>(`${path}/${exportId}`, { method: 'GET' });
    setShown(found.body);
    setProblem(found.problem);
  };
  return (
    <Card
      title="Exports"
      note="archives of your objects"
      action={
        <button type="button" onClick={() => setIsStarting(true)}>
          Start an export
        </button>
      }
    >
      <Problem text={problem} />
      {body.exports.map((each) => (
        <div class="line" key={each.exportId}>
          <div>
            <p class="strong">
              {each.repo ?? 'All repos'}, {timeText(each.createdAt, nowMs)}
            </p>
            <p class="note">
              {exportText(each)}
              {each.state === 'done' && `, kept until ${timeText(each.expiresAt, nowMs)}`}
            </p>
          </div>
          {each.state === 'done' && (
            <button type="button" class="quiet" onClick={() => void show(each)}>
              Download
            </button>
          )}
          {(each.state === 'done' || openStates.includes(each.state)) && (
            <button type="button" class="quiet" onClick={() => setRemoved(each)}>
              {each.state === 'done' ? 'Remove' : 'Cancel'}
            </button>
          )}
        </div>
      ))}
      {body.exports.length === 0 && <p class="soft">None yet. An archive doesn't count as usage.</p>}
      {isStarting && (
        <StartExport
          path={path}
          repos={repos}
          isForSome={isForSome}
          onClose={() => setIsStarting(false)}
          onStarted={() => {
            setIsStarting(false);
            read();
          }}
        />
      )}
      {shown && (
        <Dialog title="Download" onClose={() => setShown(undefined)}>
          <ul>
            {shown.archives.map(({ name, sizeBytes, url }) => (
              <li key={name}>
                <a href={url ?? ''} download={name}>
                  {name}
                </a>
                , {bytesText(sizeBytes)}
              </li>
            ))}
          </ul>
          <p class="note">These links work for about half an hour.</p>
          <div class="answers">
            <button type="button" onClick={() => setShown(undefined)}>
              Done
            </button>
          </div>
        </Dialog>
      )}
      {removed && (
        <Confirm
          title="Remove this export?"
          action="Remove"
          onClose={() => setRemoved(undefined)}
          run={async () => {
            const done = await change(`${path}/${removed.exportId}`, { method: 'DELETE' });
            if (done.problem !== undefined) return done.problem;
            setRemoved(undefined);
            read();
            return undefined;
          }}
        >
          <p>Its archive is deleted. Your objects stay.</p>
        </Confirm>
      )}
    </Card>
  );
}

function StartExport(props: {
  path: string;
  repos: readonly string[];
  isForSome: boolean;
  onClose: () => void;
  onStarted: () => void;
}) {
  const { path, repos, isForSome, onClose, onStarted } = props;
  const [repo, setRepo] = useState(isForSome ? (repos[0] ?? '') : '');
  const [format, setFormat] = useState<'tar' | 'zip'>('tar');
  const start = async () => {
    const body = { format, ...(repo !== '' && { repo }) };
    const { problem } = await change(path, { method: 'POST', body });
    if (problem === undefined) onStarted();
    return problem;
  };
  const each = repos.map((name) => [name, name] as const);
  return (
    <FormDialog title="Start an export" action="Start" run={start} onClose={onClose}>
      <SelectField
        label="Repo"
        value={repo}
        options={isForSome ? each : [['', 'All repos'], ...each]}
        onChoose={setRepo}
      />
      <SelectField
        label="Format"
        value={format}
        options={[
          ['tar', 'tar'],
          ['zip', 'zip'],
        ]}
        onChoose={setFormat}
      />
    </FormDialog>
  );
}
