import { Icon, Mark } from '../design/icon.tsx'
import { GROUPS, SCREENS, type Screen } from '../screens/screens.ts'
import { useSession } from '../session/use-session.ts'
import { AccountMenu } from './account-menu.tsx'

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

export function NavLink({ screen, isCurrent, onClick }: { screen: Screen; isCurrent: boolean; onClick?: () => void }) {
  return (
    <a class="nav-link" href={`#/${screen.path}`} aria-current={isCurrent ? 'page' : undefined} onClick={onClick}>
      <Icon name={screen.icon} />
      {screen.label}
    </a>
  )
}
