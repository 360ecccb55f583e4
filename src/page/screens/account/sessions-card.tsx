import { useState } from 'preact/hooks'
import { answerOf, client } from '../../api/client.ts'
import type { Schema } from '../../api/schema.ts'
import { useMutation } from '../../data/use-mutation.ts'
import { useResource } from '../../data/use-resource.ts'
import { When } from '../../data/when.tsx'
import { Badge } from '../../design/badge.tsx'
import { Button } from '../../design/button.tsx'
import { Card } from '../../design/card.tsx'
import { LoadStatus } from '../../design/feedback.tsx'
import { type Column, Table } from '../../design/table.tsx'
import { toast } from '../../design/toast.tsx'
import { deviceText } from '../../format/device-text.ts'
import { signOut } from '../../sign-in/sign-in.ts'

type OwnSession = Schema<'OwnSession'>

/** Where the person, or the holder of the token, is signed in. */
export function SessionsCard() {
  const { data, error, refresh } = useResource('sessions', (signal) =>
    answerOf(client.GET('/portal/v1/me/sessions', { signal })),
  )
  const [ending, setEnding] = useState<string | null>(null)
  const end = useMutation({
    send: (sessionId: string) =>
      answerOf(client.DELETE('/portal/v1/me/sessions/{sessionId}', { params: { path: { sessionId } } })),
    invalidates: ['sessions'],
    onDone: () => toast({ tone: 'good', text: 'The session has been ended' }),
  })
  const endOthers = useMutation({
    send: (_: null) => answerOf(client.DELETE('/portal/v1/me/sessions')),
    invalidates: ['sessions'],
    onDone: () => toast({ tone: 'good', text: 'All other sessions have been ended' }),
  })
  const hasOthers = (data?.sessions.length ?? 0) > 1
  const columns: Column<OwnSession>[] = [
    {
      key: 'device',
      head: 'Device',
      cell: ({ device, isThis }) => (
        <>
          {deviceText(device)} {isThis && <Badge tone="info">This one</Badge>}
        </>
      ),
    },
    { key: 'place', head: 'Place', cell: ({ place }) => place.charAt(0).toUpperCase() + place.slice(1) },
    { key: 'seen', head: 'Last used', cell: ({ lastSeenAt }) => <When instant={lastSeenAt} /> },
    { key: 'created', head: 'Signed in', isMinor: true, cell: ({ createdAt }) => <When instant={createdAt} /> },
    {
      key: 'actions',
      head: 'Actions',
      isActions: true,
      cell: ({ id, device, place, isThis }) =>
        !isThis && (
          <Button
            tone="quiet"
            size="s"
            aria-label={`End the session of ${deviceText(device)}, ${place}`}
            isBusy={end.isRunning && ending === id}
            onClick={() => {
              setEnding(id)
              void end.run(id)
            }}
          >
            End
          </Button>
        ),
    },
  ]
  return (
    <>
      <Card
        title="Sessions"
        isFlush
        aside={
          hasOthers && (
            <Button size="s" isBusy={endOthers.isRunning} onClick={() => void endOthers.run(null)}>
              End all others
            </Button>
          )
        }
      >
        <LoadStatus of={{ data, error, refresh }} lines={2} />
        {data !== undefined && (
          <Table caption="Sessions" columns={columns} rows={data.sessions} rowKey={({ id }) => id} />
        )}
      </Card>
      <div>
        <Button icon="signout" onClick={() => void signOut()}>
          Sign out
        </Button>
      </div>
    </>
  )
}
