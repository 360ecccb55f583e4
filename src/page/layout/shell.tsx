import './shell.css'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { Screen } from '../screens/screens.ts'
import { useSession } from '../session/use-session.ts'
import { BottomBar } from './bottom-bar.tsx'
import { ConnectionMark } from './connection-mark.tsx'
import { SideNav } from './side-nav.tsx'

/** The frame around every screen: navigation, connection mark, and where the screen is drawn. */
export function Shell({ screen, children }: { screen: Screen; children: ComponentChildren }) {
  const { agency } = useSession()
  const main = useRef<HTMLElement>(null)
  const isFirst = useRef(true)
  useEffect(() => {
    document.title = `${screen.label} · ${agency.name}`
    scrollTo(0, 0)
    // A screen reader goes on at the new screen's name; not when the page has just been opened.
    if (!isFirst.current) main.current?.querySelector<HTMLElement>('h1')?.focus()
    isFirst.current = false
  }, [screen.path])
  return (
    <div class="shell">
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
      <main id="main" ref={main} class={screen.isFull === true ? 'main main-full' : 'main'} tabIndex={-1}>
        <ConnectionMark />
        {children}
      </main>
      <BottomBar current={screen} />
    </div>
  )
}
