/** The page's entry: bundled by src/api/page/. */
import './styles/tokens.css'
import './styles/base.css'
import './styles/forced-colors.css'
import './styles/print.css'
import './design/theme.ts'
import './sign-in/opened-link.ts'
import { render } from 'preact'
import { useEffect, useMemo } from 'preact/hooks'
import { connection } from './api/connection.ts'
import { session } from './api/session.ts'
import { resources } from './data/resources.ts'
import { currentSession, SessionContext } from './data/use-session.ts'
import { Toasts } from './design/toast.tsx'
import { Shell } from './layout/shell.tsx'
import { useStore } from './lib/hooks.ts'
import { useRoute } from './route/router.ts'
import { screenOf } from './screens/screens.ts'
import { AgencyChoice } from './sign-in/agency-choice.tsx'
import { LinkScreen } from './sign-in/link-screen.tsx'
import { openedLink } from './sign-in/opened-link.ts'
import { openSession } from './sign-in/sign-in.ts'
import { SignInAgain, SignInScreen, Unreachable } from './sign-in/sign-in-screen.tsx'

const root = document.createElement('div')
root.className = 'root'
document.body.replaceChildren(root)
render(<App />, root)

function App() {
  const state = useStore(session)
  const link = useStore(openedLink)
  useEffect(() => {
    void openSession()
    return connection.onBack(() => {
      // What has changed meanwhile is not on the screen.
      if (session.value.kind === 'signed_in') resources.invalidate('')
      else if (session.value.kind === 'unreachable') void openSession()
    })
  }, [])
  if (link !== null) return <LinkScreen key={link.join()} secrets={link} />
  switch (state.kind) {
    case 'opening':
      return null
    case 'signed_out':
      return <SignInScreen />
    case 'unreachable':
      return <Unreachable problem={state.problem} />
    case 'choosing':
      return (
        <>
          <AgencyChoice actor={state.actor} />
          <Toasts />
        </>
      )
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
