import './sandbox-strip.css'
import { useEffect, useState } from 'preact/hooks'
import { answerOf, client } from '../api/client.ts'
import { resources } from '../data/resources.ts'
import { useMutation } from '../data/use-mutation.ts'
import { useResource } from '../data/use-resource.ts'
import { useSession } from '../data/use-session.ts'
import { Button } from '../design/button.tsx'
import { ConfirmDialog } from '../design/dialog.tsx'
import { Icon } from '../design/icon.tsx'
import { toast } from '../design/toast.tsx'
import { instantText } from '../format/instants.ts'
import { sandboxTime } from '../lib/present.ts'
import { leaveSandbox, openSandbox } from '../sign-in/sign-in.ts'

const HOUR_S = 3_600
const DAY_S = 86_400
/** How often a time that moves is looked at. */
const LOOK_MS = 250

/** Above every screen of a sandbox: that it is one, its time, and how to move it. */
export function SandboxStrip() {
  const { actor, agency, path } = useSession()
  const [isResetting, setResetting] = useState(false)
  const { data, refresh } = useResource('sandbox', (signal) =>
    answerOf(client.GET('/portal/v1/agencies/{agencySlug}/sandbox', { params: { path }, signal })),
  )
  const isMoving = data?.clock.status === 'advancing'
  useEffect(() => {
    if (!isMoving) return
    const timer = setInterval(() => void refresh(), LOOK_MS)
    return () => {
      clearInterval(timer)
      // Whatever the move has changed, "today" included.
      resources.invalidate('')
    }
  }, [isMoving])
  const nowText = data?.clock.now
  useEffect(() => {
    sandboxTime.set(nowText === undefined ? null : Date.parse(nowText))
  }, [nowText])
  useEffect(() => () => sandboxTime.set(null), [])
  const move = useMutation({
    send: (body: { now: string } | { advanceSeconds: number }, header) =>
      answerOf(client.POST('/portal/v1/agencies/{agencySlug}/sandbox/clock', { params: { path, header }, body })),
    invalidates: ['sandbox'],
  })
  const reset = useMutation({
    send: (_: null, header) =>
      answerOf(client.POST('/portal/v1/agencies/{agencySlug}/sandbox/reset', { params: { path, header } })),
    onDone: ({ agency: made }) => {
      setResetting(false)
      openSandbox(actor, made)
      toast({ tone: 'good', text: 'The sandbox is new.' })
    },
    report: 'inline',
  })
  const isBusy = move.isRunning || isMoving
  const nextAt = data?.clock.nextAt ?? null
  return (
    <>
      <section class="strip" aria-label="Sandbox">
        <span class="strip-name">
          <Icon name="clock" />
          Sandbox
        </span>
        <span class="strip-time" role="status">
          {isMoving ? (
            <span class="strip-moving">
              <span class="spinner" aria-hidden="true" />
              Moving: {instantText(data.clock.now, agency.timezone)}
            </span>
          ) : (
            data !== undefined && <time dateTime={data.clock.now}>{instantText(data.clock.now, agency.timezone)}</time>
          )}
        </span>
        <Button size="s" disabled={isBusy} onClick={() => void move.run({ advanceSeconds: HOUR_S })}>
          +1 hour
        </Button>
        <Button size="s" disabled={isBusy} onClick={() => void move.run({ advanceSeconds: DAY_S })}>
          +1 day
        </Button>
        <Button
          size="s"
          disabled={isBusy || nextAt === null}
          title={nextAt === null ? 'Nothing waits for the time of the sandbox' : instantText(nextAt, agency.timezone)}
          onClick={() => nextAt !== null && void move.run({ now: nextAt })}
        >
          To the next event
        </Button>
        <Button size="s" tone="quiet" icon="refresh" onClick={() => setResetting(true)}>
          Reset
        </Button>
        <Button size="s" tone="quiet" icon="left" onClick={() => void leaveSandbox(actor)}>
          Leave
        </Button>
      </section>
      {isResetting && (
        <ConfirmDialog
          title="Reset the sandbox?"
          action="Reset"
          isBusy={reset.isRunning}
          problem={reset.problem}
          onConfirm={() => void reset.run(null)}
          onClose={() => setResetting(false)}
        >
          <p>
            Units, rates and fees are copied again, and the time is set to the present. Bookings, guests and the history
            of the sandbox are gone. Keys and webhook endpoints stay.
          </p>
        </ConfirmDialog>
      )}
    </>
  )
}
