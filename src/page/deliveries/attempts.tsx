import './attempts.css'
import { useSession } from '../data/use-session.ts'
import { Icon } from '../design/icon.tsx'
import { instantText } from '../format/instants.ts'
import { count } from '../format/numbers.ts'
import { attemptWords, type Delivery, isAccepted } from './delivery-looks.ts'

/** Every attempt of a delivery: when, how long it took, and what came of it. */
export function Attempts({ delivery: { attempts, nextAttemptAt, status } }: { delivery: Delivery }) {
  const { agency } = useSession()
  return (
    <ol class="attempts">
      {attempts.map((one) => (
        <li key={one.attempt}>
          <span class={isAccepted(one) ? 'attempt-good' : 'attempt-bad'}>
            <Icon name={isAccepted(one) ? 'check' : 'close'} size={12} />
          </span>
          <span class="attempt-words">
            {instantText(one.at, agency.timezone)}: {attemptWords(one)}
          </span>
          <span class="numeric muted">{count(Math.round(one.durationMs))} ms</span>
        </li>
      ))}
      {nextAttemptAt !== null && (
        <li>
          <span class="attempt-next">
            <Icon name="clock" size={12} />
          </span>
          <span class="attempt-words">
            {attempts.length === 0 ? 'First' : 'Next'} attempt {instantText(nextAttemptAt, agency.timezone)}
          </span>
        </li>
      )}
      {status === 'held' && (
        <li>
          <span class="attempt-next">
            <Icon name="clock" size={12} />
          </span>
          <span class="attempt-words">Waiting until the endpoint is switched on</span>
        </li>
      )}
    </ol>
  )
}
