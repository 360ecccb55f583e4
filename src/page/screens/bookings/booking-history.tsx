import { useState } from 'preact/hooks'
import { answerOf, client } from '../../api/client.ts'
import { useResource } from '../../data/use-resource.ts'
import { useSession } from '../../data/use-session.ts'
import { Button } from '../../design/button.tsx'
import { Card } from '../../design/card.tsx'
import { ErrorNote, Skeleton } from '../../design/feedback.tsx'
import { HistoryList } from '../../history/history-list.tsx'
import type { Booking } from '../../stays/stay-name.ts'

/** Lines shown at first, and added by each press. */
const STEP = 20
/** The most that the service gives at once. */
const SHOWN_MAX = 200

/** Who did what with it, and when. */
export function BookingHistory({ booking: { id, version } }: { booking: Booking }) {
  const { path } = useSession()
  const [shown, setShown] = useState(STEP)
  const query = { booking: id, pageSize: shown }
  const { data, error, refresh } = useResource(`audit?booking=${id}&version=${version}&shown=${shown}`, (signal) =>
    answerOf(client.GET('/portal/v1/agencies/{agencySlug}/audit', { params: { path, query }, signal })),
  )
  return (
    <Card title="History">
      <ErrorNote problem={error} onRetry={refresh} />
      {data === undefined && error === null && <Skeleton lines={4} />}
      {data !== undefined && <HistoryList entries={data.audit} />}
      {data !== undefined && data.totalItems > data.audit.length && shown < SHOWN_MAX && (
        <div class="booking-more">
          <Button size="s" onClick={() => setShown(Math.min(SHOWN_MAX, shown + STEP))}>
            Show older
          </Button>
        </div>
      )}
    </Card>
  )
}
