import { useStore } from '../data/use-store.ts'
import { Button } from '../design/button.tsx'
import { Icon } from '../design/icon.tsx'
import { connection } from '../session/connection.ts'

/** Says when what is on the screen may be out of date. While all is well it takes no room. */
export function ConnectionMark() {
  const state = useStore(connection)
  return (
    <div class="connection" role="status" data-state={state}>
      {state !== 'online' && (
        <div class={`connection-card connection-${state}`}>
          {state === 'reconnecting' ? <span class="spinner" aria-hidden="true" /> : <Icon name="warning" />}
          <span>
            {state === 'reconnecting'
              ? 'Reconnecting…'
              : 'Connection lost. What you see may be out of date, and changes cannot be saved.'}
          </span>
          {state === 'lost' && (
            <Button size="s" onClick={() => connection.retry()}>
              Try now
            </Button>
          )}
        </div>
      )}
    </div>
  )
}
