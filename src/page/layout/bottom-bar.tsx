import { useState } from 'preact/hooks'
import { Dialog } from '../design/dialog.tsx'
import { Icon } from '../design/icon.tsx'
import { SCREENS, type Screen } from '../screens/screens.ts'
import { useSession } from '../session/use-session.ts'
import { nameOf, roleOf, useAccountItems } from './account-menu.tsx'
import { NavLink } from './side-nav.tsx'

/** The navigation of a phone: the screens of the day, and the others in a sheet. */
export function BottomBar({ current }: { current: Screen }) {
  const [isOpen, setOpen] = useState(false)
  const close = () => setOpen(false)
  return (
    <>
      <nav class="bar" aria-label="Screens">
        {SCREENS.filter(({ isInBar }) => isInBar === true).map((screen) => (
          <a
            key={screen.path}
            class="bar-link"
            href={`#/${screen.path}`}
            aria-current={screen === current ? 'page' : undefined}
          >
            <Icon name={screen.icon} size={20} />
            {screen.label}
          </a>
        ))}
        <button
          type="button"
          class={current.isInBar === true ? 'bar-link' : 'bar-link bar-link-current'}
          aria-haspopup="dialog"
          onClick={() => setOpen(true)}
        >
          <Icon name="more" size={20} />
          More
        </button>
      </nav>
      {isOpen && <MoreSheet current={current} onClose={close} />}
    </>
  )
}

function MoreSheet({ current, onClose }: { current: Screen; onClose: () => void }) {
  const session = useSession()
  const items = useAccountItems()
  return (
    <Dialog title={session.agency.name} onClose={onClose}>
      <ul class="sheet-list">
        {SCREENS.filter(({ isInBar, role }) => isInBar !== true && (role === undefined || session.may(role))).map(
          (screen) => (
            <li key={screen.path}>
              <NavLink screen={screen} isCurrent={screen === current} onClick={onClose} />
            </li>
          ),
        )}
      </ul>
      <div class="sheet-account">
        <p class="muted">
          {nameOf(session)} · {roleOf(session)}
        </p>
        <ul class="sheet-list">
          {items.map(({ label, icon, onSelect }) => (
            <li key={label}>
              <button
                type="button"
                class="nav-link"
                onClick={() => {
                  onClose()
                  onSelect()
                }}
              >
                {icon !== undefined && <Icon name={icon} />}
                {label}
              </button>
            </li>
          ))}
        </ul>
      </div>
    </Dialog>
  )
}
