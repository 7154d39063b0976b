import type { ReservationBody } from '../../lambda/http/management/reservations/schemas.ts';
import type { Listed } from './api.ts';
import { CsvButton } from './csv-button.tsx';
import { Card, Cut } from './parts.tsx';
import { reservationText, sortReservations } from './reservation-order.ts';
import { bytesText, timeText } from './text.ts';
import { countText } from './usage.tsx';

const rowsMax = 8;

/** What is promised to uploads under way, of which repo, and until when. */
export function Reservations(props: {
  tenant: string;
  listed: Listed<ReservationBody>;
  reservedBytes: number;
  nowMs: number;
}) {
  const { tenant, listed, reservedBytes, nowMs } = props;
  const sorted = sortReservations(listed.items);
  const more = sorted.length - rowsMax;
  return (
    <Card
      title="Reserved"
      note={<span role="status">{bytesText(reservedBytes)} may still arrive</span>}
      action={
        <CsvButton
          name="reservations"
          tenant={tenant}
          rows={sorted}
          fields={[
            'repo',
            'state',
            'arrived',
            'objectCount',
            'bytes',
            'createdAt',
            'expiresAt',
            'reservedUntil',
          ]}
        />
      }
    >
      <table>
        <thead>
          <tr>
            <th scope="col">Repo</th>
            <th scope="col" class="middle">
              Upload
            </th>
            <th scope="col" class="right wide">
              Objects
            </th>
            <th scope="col" class="right">
              Size
            </th>
            <th scope="col" class="right">
              At most until
            </th>
          </tr>
        </thead>
        <tbody>
          {sorted.slice(0, rowsMax).map((reservation) => (
            <tr key={reservation.id}>
              <th scope="row">{reservation.repo}</th>
              <td class="middle soft">{reservationText(reservation)}</td>
              <td class="right wide">{countText(reservation.objectCount)}</td>
              <td class="right strong">{bytesText(reservation.bytes)}</td>
              <td class="right soft">{timeText(reservation.reservedUntil, nowMs)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="note under">
        {more > 0 && `And ${countText(more)} more. `}
        Until an upload ends, only a higher limit makes space. What has arrived already counts as stored.
      </p>
      <Cut isCut={listed.isCut} count={sorted.length} />
    </Card>
  );
}
