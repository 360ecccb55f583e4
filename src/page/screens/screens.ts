/** Every screen: its address, its place in the navigation, and the component that draws it. */
import type { ComponentType } from 'preact'
import type { Role } from '../api/session.ts'
import type { IconName } from '../design/icon.tsx'
import { AccountScreen } from './account/account-screen.tsx'
import { AuditScreen } from './audit/audit-screen.tsx'
import { BookingsScreen } from './bookings/bookings-screen.tsx'
import { CalendarScreen } from './calendar/calendar-screen.tsx'
import { FeesScreen } from './fees/fees-screen.tsx'
import { GuestsScreen } from './guests/guests-screen.tsx'
import { KeysScreen } from './keys/keys-screen.tsx'
import { OverviewScreen } from './overview/overview-screen.tsx'
import { PeopleScreen } from './people/people-screen.tsx'
import { RetentionScreen } from './retention/retention-screen.tsx'
import { UnitsScreen } from './units/units-screen.tsx'
import { WebhooksScreen } from './webhooks/webhooks-screen.tsx'

export interface Screen {
  /** First segment of the address. What follows is the screen's own: `useRoute().path`. */
  readonly path: string
  readonly label: string
  readonly icon: IconName
  /** Screens of a group are together in the navigation. Left out: the screen is not in the navigation. */
  readonly group?: 'stays' | 'inventory' | 'connections'
  /** Has a place in the bar at the bottom of a phone. */
  readonly isInBar?: boolean
  /** The navigation shows it only to this role and above. */
  readonly role?: Role
  /** Uses the whole width and height, and scrolls inside. */
  readonly isFull?: boolean
  readonly component: ComponentType
}

export const SCREENS: readonly [Screen, ...Screen[]] = [
  { path: 'overview', label: 'Overview', icon: 'overview', group: 'stays', isInBar: true, component: OverviewScreen },
  {
    path: 'calendar',
    label: 'Calendar',
    icon: 'calendar',
    group: 'stays',
    isInBar: true,
    isFull: true,
    component: CalendarScreen,
  },
  { path: 'bookings', label: 'Bookings', icon: 'bookings', group: 'stays', isInBar: true, component: BookingsScreen },
  { path: 'guests', label: 'Guests', icon: 'guests', group: 'stays', isInBar: true, component: GuestsScreen },
  { path: 'units', label: 'Units and rates', icon: 'units', group: 'inventory', component: UnitsScreen },
  { path: 'fees', label: 'Fees', icon: 'fees', group: 'inventory', component: FeesScreen },
  { path: 'keys', label: 'API keys', icon: 'keys', group: 'connections', component: KeysScreen },
  {
    path: 'people',
    label: 'People',
    icon: 'user',
    group: 'connections',
    role: 'owner',
    component: PeopleScreen,
  },
  { path: 'webhooks', label: 'Webhooks', icon: 'webhooks', group: 'connections', component: WebhooksScreen },
  { path: 'audit', label: 'Audit and usage', icon: 'audit', group: 'connections', component: AuditScreen },
  { path: 'retention', label: 'Data retention', icon: 'clock', group: 'connections', component: RetentionScreen },
  { path: 'account', label: 'Your account', icon: 'user', component: AccountScreen },
]

export const GROUPS = [
  { key: 'stays', label: 'Stays' },
  { key: 'inventory', label: 'Inventory' },
  { key: 'connections', label: 'Connections' },
] as const satisfies readonly { key: NonNullable<Screen['group']>; label: string }[]

/** The screen of an address; for an unknown one, the first. */
export function screenOf(path: string | undefined): Screen {
  return SCREENS.find((screen) => screen.path === path) ?? SCREENS[0]
}
