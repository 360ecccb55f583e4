import type { Endpoint } from '../../deliveries/use-endpoints.ts'
import { Badge } from '../../design/badge.tsx'
import { count, plural } from '../../format/count.ts'

/** As the service counts: after so many failures in a row an endpoint is switched off. */
export const FAILURES_IN_A_ROW_MAX = 20
/** As the service counts: it says no more than this. */
const WAITING_COUNTED_MAX = 10_000

export function EndpointState({ endpoint: { status, consecutiveFailures } }: { endpoint: Endpoint }) {
  if (status === 'disabled') return <Badge tone="bad">Switched off</Badge>
  if (consecutiveFailures > 0) return <Badge tone="warn">{plural(consecutiveFailures, 'failure')} in a row</Badge>
  return <Badge tone="good">Active</Badge>
}

/** `12 events`, `10,000 events or more`. */
export function waitingText({ waitingEvents }: Pick<Endpoint, 'waitingEvents'>): string {
  const isMore = waitingEvents >= WAITING_COUNTED_MAX
  return isMore ? `${count(WAITING_COUNTED_MAX)} events or more` : plural(waitingEvents, 'event')
}
