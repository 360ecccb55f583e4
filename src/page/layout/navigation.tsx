/** The way to the screens: beside them where there is room, below them on a phone. */
import { useState } from 'preact/hooks'
import { answerOf, client } from '../api/client.ts'
import { problemOf } from '../api/problem.ts'
import { type CurrentSession, roleLabel, useSession } from '../data/use-session.ts'
import { Dialog } from '../design/dialog.tsx'
import { Icon, Mark } from '../design/icon.tsx'
import { Menu, type MenuItem } from '../design/menu.tsx'
import { theme, toggleTheme } from '../design/theme.ts'
import { toast } from '../design/toast.tsx'
import { nameText } from '../format/texts.ts'
import { useStore } from '../lib/hooks.ts'
import { navigate } from '../route/router.ts'
import { GROUPS, SCREENS, type Screen } from '../screens/screens.ts'
import { leaveAgency, openSandbox, signOut } from '../sign-in/sign-in.ts'

/** Who is signed in, and what concerns the person rather than the agency. */
function AccountMenu() {
  const session = useSession()
  const items = useAccountItems()
  return (
    <div class="account">
      <Menu label="Account" items={items} side="above">
        <span class="account-mark">
          <Icon name="user" />
        </span>
        <span class="account-who">
          <span class="account-name">{nameOf(session)}</span>
          <span class="account-role">{roleOf(session)}</span>
        </span>
        <Icon name="up" />
      </Menu>
    </div>
  )
}

function useAccountItems(): readonly MenuItem[] {
  const { actor, agency, path, may } = useSession()
  const isDark = useStore(theme) === 'dark'
  return [
    { label: 'Your account', icon: 'user', onSelect: () => navigate('account') },
    { label: isDark ? 'Light theme' : 'Dark theme', icon: isDark ? 'sun' : 'moon', onSelect: toggleTheme },
    ...(may('owner') && agency.sandboxOf === null
      ? [{ label: 'Sandbox', icon: 'clock', onSelect: () => void goToSandbox(actor, path) } as const satisfies MenuItem]
      : []),
    ...(actor.kind === 'operator'
      ? [{ label: 'Change agency', icon: 'home', onSelect: leaveAgency } as const satisfies MenuItem]
      : []),
    { label: 'Sign out', icon: 'signout', onSelect: () => void signOut() },
  ]
}

function nameOf({ actor }: CurrentSession): string {
  return actor.name === null ? 'Operator' : nameText(actor.name)
}

function roleOf({ actor }: CurrentSession): string {
  return actor.kind === 'operator' ? 'Every agency' : roleLabel(actor.role)
}

/** Opens the sandbox of the agency. The first time, it is made. */
async function goToSandbox(actor: CurrentSession['actor'], path: CurrentSession['path']): Promise<void> {
  const at = '/portal/v1/agencies/{agencySlug}/sandbox'
  try {
    const found = await client.GET(at, { params: { path } })
    if (found.response.status === 404)
      toast({ tone: 'good', text: 'Making the sandbox: a copy of your units, without anything real.' })
    const { agency } = found.data ?? (await answerOf(client.POST(at, { params: { path } })))
    openSandbox(actor, agency)
  } catch (error) {
    toast({ tone: 'bad', text: problemOf(error).message })
  }
}

/** The navigation of a wide screen. */
export function SideNav({ current }: { current: Screen }) {
  const { agency, may } = useSession()
  return (
    <header class="side">
      <div class="side-brand">
        <Mark />
        <span class="side-agency">{agency.name}</span>
      </div>
      <nav class="side-nav" aria-label="Screens">
        {GROUPS.map(({ key, label }) => (
          <ul key={key} aria-label={label}>
            {SCREENS.filter(({ group, role }) => group === key && (role === undefined || may(role))).map((screen) => (
              <li key={screen.path}>
                <NavLink screen={screen} isCurrent={screen === current} />
              </li>
            ))}
          </ul>
        ))}
      </nav>
      <AccountMenu />
    </header>
  )
}

function NavLink({ screen, isCurrent, onClick }: { screen: Screen; isCurrent: boolean; onClick?: () => void }) {
  return (
    <a class="nav-link" href={`#/${screen.path}`} aria-current={isCurrent ? 'page' : undefined} onClick={onClick}>
      <Icon name={screen.icon} />
      {screen.label}
    </a>
  )
}

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
        {SCREENS.filter(
          ({ isInBar, group, role }) =>
            isInBar !== true && group !== undefined && (role === undefined || session.may(role)),
        ).map((screen) => (
          <li key={screen.path}>
            <NavLink screen={screen} isCurrent={screen === current} onClick={onClose} />
          </li>
        ))}
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
