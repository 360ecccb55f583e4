import { problemOf } from '../api/problem.ts'
import { useStore } from '../data/use-store.ts'
import { Icon } from '../design/icon.tsx'
import { Menu, type MenuItem } from '../design/menu.tsx'
import { toast } from '../design/toast.tsx'
import { nameText } from '../format/name-text.ts'
import { roleLabel } from '../screens/people/roles.ts'
import { leaveAgency, signOut } from '../session/sign-in.ts'
import { type CurrentSession, useSession } from '../session/use-session.ts'
import { theme, toggleTheme } from '../styles/theme.ts'

/** Who is signed in, and what concerns the person rather than the agency. */
export function AccountMenu() {
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

export function useAccountItems(): readonly MenuItem[] {
  const { actor } = useSession()
  const isDark = useStore(theme) === 'dark'
  return [
    { label: isDark ? 'Light theme' : 'Dark theme', icon: isDark ? 'sun' : 'moon', onSelect: toggleTheme },
    ...(actor.kind === 'operator'
      ? [{ label: 'Change agency', icon: 'home', onSelect: leaveAgency } as const satisfies MenuItem]
      : []),
    { label: 'Sign out', icon: 'signout', onSelect: () => void leave() },
  ]
}

export function nameOf({ actor }: CurrentSession): string {
  return actor.kind === 'operator' ? 'Operator' : nameText(actor.name ?? 'Access token')
}

export function roleOf({ actor }: CurrentSession): string {
  return actor.kind === 'operator' ? 'Every agency' : roleLabel(actor.role)
}

async function leave(): Promise<void> {
  try {
    await signOut()
  } catch (error) {
    toast({ tone: 'bad', text: `You are still signed in. ${problemOf(error).message}` })
  }
}
