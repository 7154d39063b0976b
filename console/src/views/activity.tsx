import { useEffect, useRef, useState } from 'preact/hooks';
import type { AuditEntryBody } from '../../../lambda/frame/contract/audit.ts';
import type { Outlook } from '../../../lambda/frame/contract/outlook.ts';
import { formatAddress, repoAddress } from '../address.ts';
import { ask } from '../api.ts';
import { progressOf } from '../figures.ts';
import { Card, Choice, CsvButton, Cut, Problem, Title } from '../parts.tsx';
import { useRead } from '../requests.ts';
import { dayText, percentText } from '../text.ts';
import type { ViewProps } from '../view-props.ts';
import { auditSentence, refusalSentence, type Sentence } from './audit-text.ts';
import { usePages } from './pages.tsx';
import { subjectParts } from './subject-parts.ts';
import './activity.css';

const rowsMax = 20;
/** Entries of one request, and of all. The command line lists more. */
const askedAtOnce = 200;
const entriesMax = 10_000;
const notListed = "Couldn't list all entries. Reload the page.";

const groups = {
  All: () => true,
  Access: (action: string) => /^(token|rule|identity|lock|invitation|device|organization|user)/.test(action),
  Limits: (action: string) => /\.update$|^reservations/.test(action),
  Deletes: (action: string) => /delete|^gc/.test(action),
  Rejected: (_: string, { isRejected }: Sentence) => isRejected,
} as const;
type Group = keyof typeof groups;

/** Entries of the audit log, the newest first: as many as are needed to show the rows that are wanted. */
function useAudit(tenant: string, mayRead: boolean) {
  const [entries, setEntries] = useState<readonly AuditEntryBody[]>([]);
  /** undefined: none was asked for. null: these are all. */
  const [cursor, setCursor] = useState<string | null>();
  const [problem, setProblem] = useState<string>();
  const isBusy = useRef(false);
  const canMore = mayRead && cursor !== null && entries.length < entriesMax && !problem;
  const more = async () => {
    if (!canMore || isBusy.current) return;
    isBusy.current = true;
    const query = { limit: askedAtOnce, cursor: cursor ?? undefined };
    const outcome = await ask('GET /v1/tenants/{tenant}/audit', { tenant, query });
    isBusy.current = false;
    if (outcome.kind !== 'ok') return setProblem(outcome.kind === 'refused' ? outcome.detail : notListed);
    setEntries([...entries, ...outcome.body.entries]);
    setCursor(outcome.body.nextCursor);
  };
  return { entries, canMore, more, problem, isCut: entries.length >= entriesMax && cursor !== null };
}

/** Who did what, and what was rejected. */
export function Activity(props: ViewProps) {
  const { tenant, address, body, mayManage } = props;
  const { entries, canMore, more, problem, isCut } = useAudit(tenant, mayManage);
  const [group, setGroup] = useState<Group>('All');
  const all = [
    ...entries.map((entry) => ({ action: entry.action, ...auditSentence(entry) })),
    ...((body as Outlook).lastRefusals ?? []).map((refusal) => ({
      action: 'push',
      ...refusalSentence(refusal),
    })),
  ].sort((a, b) => (a.at < b.at ? 1 : -1));
  const rows = all.filter((row) => groups[group](row.action, row));
  const { shown, pager, isLast, toFirst } = usePages(rows, rowsMax, canMore);
  useEffect(() => {
    if (isLast) void more();
  }, [isLast, entries, group]);
  return (
    <main>
      <Title
        address={address}
        note={mayManage ? 'Changes of 400 days, and rejected pushes' : 'Rejected pushes'}
      />
      <InProgress {...props} />
      <section class="card" aria-label="Activity">
        <div class="head">
          {mayManage && (
            <Choice
              label="Which activity"
              values={Object.keys(groups) as Group[]}
              value={group}
              onChoose={(next) => {
                setGroup(next);
                toFirst();
              }}
            />
          )}
          <CsvButton
            name="activity"
            tenant={tenant}
            rows={rows}
            fields={['at', 'who', 'did', 'repo', 'detail']}
          />
        </div>
        {shown.map((row, index) => (
          <Entry key={`${row.at} ${row.did}`} row={row} tenant={tenant} before={shown[index - 1]} />
        ))}
        {rows.length === 0 && !canMore && <p class="soft">Nothing yet.</p>}
        <Problem text={problem} />
        {pager}
        <Cut isCut={isCut} count={entries.length} />
      </section>
    </main>
  );
}

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', timeZone: 'UTC' });

/** One of them; and its day, if it's the first of that. Times are in UTC, as days are. */
function Entry(props: { row: Sentence; tenant: string; before: Sentence | undefined }) {
  const { row, tenant, before } = props;
  const { at, who, did, repo, detail, isRejected } = row;
  const day = at.slice(0, 10);
  return (
    <>
      {before?.at.slice(0, 10) !== day && <h2 class="note day">{dayText(day)}</h2>}
      <div class="entry cut">
        <time dateTime={at} class="note">
          {clock.format(new Date(at))}
        </time>
        <div>
          <p>
            <strong>{who}</strong> {did}{' '}
            {repo && <a href={formatAddress(repoAddress(tenant, repo))}>{repo}</a>}
            {isRejected && <span class="pill near">rejected</span>}
          </p>
          {detail && <p class="note">{detail}</p>}
        </div>
      </div>
    </>
  );
}

const busyMs = 5_000;

const hooks = subjectParts.flatMap(({ useInProgress }) => useInProgress ?? []);

/** Scans that aren't done, and what subjects have to tell. */
function InProgress(props: ViewProps) {
  const { tenant } = props;
  const scans = useRead('GET /v1/tenants/{tenant}/scans', {
    tenant,
    againMs: (now) => (progressOf(now.scans) ? busyMs : null),
  });
  const scan = progressOf(scans.body?.scans ?? []);
  const others = hooks.map((useInProgress) => useInProgress(props)).reverse();
  if (!scan && !others.some(Boolean)) return null;
  return (
    <Card title="In progress">
      {scan && (
        <p>
          Scanning {scan.what}
          {scan.isPaused && ', paused'} <span class="soft">{percentText(scan.share, 1)}</span>
        </p>
      )}
      {others}
    </Card>
  );
}
