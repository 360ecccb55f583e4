import { useEffect, useMemo } from 'preact/hooks'
import { resources } from './data/resources.ts'
import { useStore } from './data/use-store.ts'
import { Toasts } from './design/toast.tsx'
import { Shell } from './layout/shell.tsx'
import { useRoute } from './route/router.ts'
import { screenOf } from './screens/screens.ts'
import { connection } from './session/connection.ts'
import { session } from './session/session.ts'
import { openSession } from './session/sign-in.ts'
import { currentSession, SessionContext } from './session/use-session.ts'
import { AgencyChoice } from './sign-in/agency-choice.tsx'
import { SignInAgain } from './sign-in/sign-in-again.tsx'
import { SignInScreen } from './sign-in/sign-in-screen.tsx'
import { Unreachable } from './sign-in/unreachable.tsx'

export function App() {
  const state = useStore(session)
  useEffect(() => {
    void openSession()
    return connection.onBack(() => {
      // What has changed meanwhile is not on the screen.
      if (session.value.kind === 'signed_in') resources.invalidate('')
      else if (session.value.kind === 'unreachable') void openSession()
    })
  }, [])
  switch (state.kind) {
    case 'opening':
      return null
    case 'signed_out':
      return <SignInScreen />
    case 'unreachable':
      return <Unreachable problem={state.problem} />
    case 'choosing':
      return <AgencyChoice actor={state.actor} />
    case 'signed_in':
      return (
        <>
          <Screens actor={state.actor} agency={state.agency} />
          {state.ended && <SignInAgain />}
          <Toasts />
        </>
      )
  }
}

function Screens({
  actor,
  agency,
}: {
  actor: Parameters<typeof currentSession>[0]
  agency: Parameters<typeof currentSession>[1]
}) {
  const { path } = useRoute()
  const current = useMemo(() => currentSession(actor, agency), [actor, agency])
  const screen = screenOf(path[0])
  return (
    <SessionContext.Provider value={current}>
      <Shell screen={screen}>
        <screen.component key={`${agency.slug}/${screen.path}`} />
      </Shell>
    </SessionContext.Provider>
  )
}
