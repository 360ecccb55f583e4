import './shell.css'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { connection } from '../api/connection.ts'
import { useSession } from '../data/use-session.ts'
import { Button } from '../design/button.tsx'
import { Icon } from '../design/icon.tsx'
import { useStore } from '../lib/hooks.ts'
import type { Screen } from '../screens/screens.ts'
import { BottomBar, SideNav } from './navigation.tsx'
import { SandboxStrip } from './sandbox-strip.tsx'

/** The frame around every screen: navigation, connection mark, and where the screen is drawn. */
export function Shell({ screen, children }: { screen: Screen; children: ComponentChildren }) {
  const { agency } = useSession()
  const isSandbox = agency.sandboxOf !== null
  const main = useRef<HTMLElement>(null)
  const isFirst = useRef(true)
  useEffect(() => {
    document.title = `${screen.label} · ${agency.name}`
    scrollTo(0, 0)
    // A screen reader continues at the new screen's name; not when the page has just been opened.
    if (!isFirst.current) main.current?.querySelector<HTMLElement>('h1')?.focus()
    isFirst.current = false
  }, [screen.path])
  return (
    <div class={isSandbox ? 'shell shell-sandbox' : 'shell'}>
      {/* biome-ignore lint/a11y/useValidAnchor: a link to a place on the page; its address belongs to the screens */}
      <a
        class="skip-link"
        href="#main"
        onClick={(event) => {
          event.preventDefault()
          main.current?.focus()
        }}
      >
        Skip to content
      </a>
      <SideNav current={screen} />
      <div class="shell-main">
        {isSandbox && <SandboxStrip />}
        <main id="main" ref={main} class={screen.isFull === true ? 'main main-full' : 'main'} tabIndex={-1}>
          <ConnectionMark />
          {children}
        </main>
      </div>
      <BottomBar current={screen} />
    </div>
  )
}

/** Says when what is on the screen may be out of date. While all is well it takes no room. */
function ConnectionMark() {
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
