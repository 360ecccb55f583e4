import { useState } from 'preact/hooks'
import { answerOf, client } from '../../api/client.ts'
import { useMutation } from '../../data/use-mutation.ts'
import { useResource } from '../../data/use-resource.ts'
import { useSession } from '../../data/use-session.ts'
import { Button } from '../../design/button.tsx'
import { Card } from '../../design/card.tsx'
import { ConfirmDialog } from '../../design/dialog.tsx'
import { LoadStatus, Note } from '../../design/feedback.tsx'
import { CodeBlock } from '../../design/secret-dialog.tsx'
import { toast } from '../../design/toast.tsx'
import type { Unit } from './unit-words.ts'

/** The address at which channels read the unit's blocked nights. */
export function CalendarFeedCard({ unit }: { unit: Unit }) {
  const { may } = useSession()
  return (
    <Card title="Calendar for channels">
      <div class="form">
        <p class="units-text">
          Channels such as Airbnb and Booking.com can import the booked nights from this iCalendar address. It does not
          say who booked them.
        </p>
        {unit.status === 'archived' ? (
          <Note>An archived unit has no calendar. Reactivate the unit to use its address again.</Note>
        ) : may('manager') ? (
          <Feed unit={unit} />
        ) : (
          <Note>
            Only managers and owners can see the address, because anyone who has it can read the calendar without
            signing in. Ask one of them for it.
          </Note>
        )}
      </div>
    </Card>
  )
}

function Feed({ unit }: { unit: Unit }) {
  const { path } = useSession()
  const [isAsking, setAsking] = useState(false)
  const params = { path: { ...path, unitSlug: unit.slug } }
  const { data, error, refresh, change } = useResource(`units/${unit.slug}/feed`, (signal) =>
    answerOf(client.GET('/portal/v1/agencies/{agencySlug}/units/{unitSlug}/calendar-feed', { params, signal })),
  )
  const { run, isRunning, problem, reset } = useMutation({
    send: (_: null, header) =>
      answerOf(
        client.POST('/portal/v1/agencies/{agencySlug}/units/{unitSlug}/calendar-feed', {
          params: { ...params, header },
        }),
      ),
    onDone: (replaced) => {
      change(() => replaced)
      setAsking(false)
      toast({ tone: 'good', text: 'The old address no longer works. Enter the new one at every channel.' })
    },
    report: 'inline',
  })
  return (
    <>
      <LoadStatus of={{ data, error, refresh }} lines={2} />
      {data !== undefined && <CodeBlock label="Calendar address" text={data.calendarFeed.url} isSecret />}
      {data !== undefined && (
        <div>
          <Button
            icon="refresh"
            onClick={() => {
              reset()
              setAsking(true)
            }}
          >
            Replace address
          </Button>
        </div>
      )}
      {isAsking && (
        <ConfirmDialog
          title={`Replace the calendar address of ${unit.name}?`}
          action="Replace address"
          isBusy={isRunning}
          problem={problem}
          onConfirm={() => void run(null)}
          onClose={() => setAsking(false)}
        >
          <p>
            The old address stops working immediately. Until you have entered the new one at every channel, channels do
            not learn which nights are taken and may sell them again.
          </p>
        </ConfirmDialog>
      )}
    </>
  )
}
