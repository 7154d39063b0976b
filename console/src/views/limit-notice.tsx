import { formatCount } from '../../../cli/render.ts';
import { formatAddress, repoAddress, tenantAddress } from '../address.ts';
import { noticeOf, type Refusal } from '../notices.ts';
import { bytesText, dayText, timeText } from '../text.ts';
import type { ViewProps } from '../view-props.ts';

/** What is to be done about the limit, if anything. */
export function LimitNotice({ body, session, mayManage, nowMs }: ViewProps) {
  const notice = noticeOf(body, nowMs);
  if (!notice) return null;
  const isFull = notice.kind === 'near' && notice.freeBytes === 0;
  const { tenant } = body;
  const { limitContactUrl } = session;
  return (
    <div class={`notice ${isFull ? 'over' : notice.kind}`} role="status">
      {notice.kind === 'rejected' && <Rejected tenant={tenant} refusal={notice.refusal} nowMs={nowMs} />}
      {notice.kind === 'near' && (
        <p>
          <strong>{isFull ? 'No space left.' : `${bytesText(notice.freeBytes)} left.`}</strong>{' '}
          {notice.freeBytes > 0 &&
            notice.fullOn !== null &&
            `At this pace, it's full on ${dayText(notice.fullOn)}. `}
          {isFull ? 'Uploads are rejected' : 'Then uploads are rejected'}; downloads still work.
        </p>
      )}
      {notice.kind === 'over' && (
        <p>
          <strong>Uploads are rejected.</strong> {tenant} uses {bytesText(notice.overBytes)} more than its
          limit of {bytesText(notice.limitBytes)}. Downloads still work.
        </p>
      )}
      <p class="row actions">
        {session.kind === 'operator' ? (
          <a href={formatAddress(tenantAddress(tenant, 'settings'))}>Raise the limit</a>
        ) : (
          limitContactUrl !== null && <a href={limitContactUrl}>Ask for more space</a>
        )}
        {mayManage ? (
          <a href={formatAddress(tenantAddress(tenant, 'objects'))}>Find what to delete</a>
        ) : (
          limitContactUrl === null && 'Ask your admin for more space.'
        )}
      </p>
    </div>
  );
}

/** With the number that is in Git's message. */
function Rejected({ tenant, refusal, nowMs }: { tenant: string; refusal: Refusal; nowMs: number }) {
  const { at, repo, user, files, atLeast, bytes, shortBytes, limit } = refusal;
  const least = atLeast ? 'at least ' : '';
  return (
    <div>
      <p>
        <strong>A push was rejected today at {timeText(at, nowMs)}.</strong> It needed {least}
        {bytesText(shortBytes)} more than {limit === 'repo' ? "the repo's limit" : 'was free'}: {least}
        {formatCount(files)} {files === 1 ? 'file' : 'files'}, {bytesText(bytes)}, to{' '}
        {repo ? <a href={formatAddress(repoAddress(tenant, repo))}>{repo}</a> : tenant}
        {user !== null && ` by ${user}`}.
      </p>
      <p>Nothing was lost: push again when there's space.</p>
    </div>
  );
}
