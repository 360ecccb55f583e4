/** Sends the deliveries of an endpoint again, part after part, until nothing is left or the person stops it. */

import { useEffect, useRef, useState } from 'preact/hooks'
import { answerOf, client } from '../../api/client.ts'
import { type Problem, problemOf } from '../../api/problem.ts'
import { resources } from '../../data/resources.ts'
import { newIdempotencyKey } from '../../data/use-mutation.ts'
import { useSession } from '../../data/use-session.ts'
import { type Endpoint, endpointName } from '../../deliveries/endpoints.tsx'
import { Button } from '../../design/button.tsx'
import { Dialog } from '../../design/dialog.tsx'
import { ErrorNote, Note } from '../../design/feedback.tsx'
import { Checkbox, DateInput } from '../../design/inputs.tsx'
import { instantOf, localTime } from '../../format/instants.ts'
import { count } from '../../format/numbers.ts'
import { present } from '../../lib/present.ts'

interface Progress {
  readonly resent: number
  readonly remaining: number
}

/** When as much is waiting as may be: the service sends some of it meanwhile. */
const BUSY_MS = 2_000

export function ResendSince({ endpoint, onClose }: { endpoint: Endpoint; onClose: () => void }) {
  const { path, agency } = useSession()
  const today = localTime(present(), agency.timezone).date
  const [since, setSince] = useState(today)
  const [failedOnly, setFailedOnly] = useState(true)
  const [progress, setProgress] = useState<Progress | null>(null)
  const [isRunning, setRunning] = useState(false)
  const [problem, setProblem] = useState<Problem | null>(null)
  const isStopped = useRef(false)
  const stop = () => {
    isStopped.current = true
  }
  // Closing it stops it too.
  useEffect(() => stop, [])

  const run = async () => {
    const at = instantOf({ date: since, time: '00:00' }, agency.timezone)
    if (at === null || isRunning) return
    isStopped.current = false
    setRunning(true)
    setProblem(null)
    let next: { until?: string; after?: string } = {}
    for (let resent = 0; !isStopped.current; ) {
      try {
        const { resend } = await answerOf(
          client.POST('/portal/v1/agencies/{agencySlug}/webhook-endpoints/{endpointId}/resend', {
            params: { path: { ...path, endpointId: endpoint.id }, header: { 'Idempotency-Key': newIdempotencyKey() } },
            body: { since: new Date(at).toISOString(), failedOnly, ...next },
          }),
        )
        resent += resend.resent
        setProgress({ resent, remaining: resend.remaining })
        if (resend.remaining === 0 || resend.after === null) break
        next = { until: resend.until, after: resend.after }
      } catch (error) {
        const met = problemOf(error)
        if (met.code !== 'RATE_LIMITED') {
          setProblem(met)
          break
        }
        await new Promise((resolve) => setTimeout(resolve, BUSY_MS))
      }
    }
    setRunning(false)
    for (const prefix of ['webhooks', 'audit']) resources.invalidate(prefix)
  }

  return (
    <Dialog
      title={`Send again to ${endpointName(endpoint)}`}
      width="s"
      onClose={onClose}
      onSubmit={() => void run()}
      isGuarded={false}
      footer={
        isRunning ? (
          <Button onClick={stop}>Stop</Button>
        ) : (
          <>
            <Button onClick={onClose}>Close</Button>
            <Button type="submit" tone="primary">
              Send again
            </Button>
          </>
        )
      }
    >
      <DateInput label="Since" value={since} max={today} onChange={setSince} />
      <Checkbox
        label="Only messages that were given up"
        hint="Otherwise those that arrived are sent again too."
        isChecked={failedOnly}
        onChange={setFailedOnly}
      />
      <ErrorNote problem={problem} />
      {progress !== null && (
        <Note tone={isRunning || progress.remaining > 0 ? 'info' : 'good'} role="status">
          <p>
            {count(progress.resent)} sent again
            {progress.remaining > 0 && `, ${count(progress.remaining)} left to look at${isRunning ? '' : ': stopped'}`}.
          </p>
        </Note>
      )}
    </Dialog>
  )
}
