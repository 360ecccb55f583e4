/** Light or dark: by the system, unless the person has chosen. */
import { Store } from '../lib/store.ts'

type Theme = 'light' | 'dark'

const KEY = 'nightledger.theme'
const dark = matchMedia('(prefers-color-scheme: dark)')

function chosen(): Theme | null {
  const value = localStorage.getItem(KEY)
  return value === 'light' || value === 'dark' ? value : null
}

const current = (): Theme => chosen() ?? (dark.matches ? 'dark' : 'light')

/** The theme that is shown. */
export const theme = new Store<Theme>(current())

function show(): void {
  theme.set(current())
  document.documentElement.dataset['theme'] = theme.value
}

show()
dark.addEventListener('change', show)

export function toggleTheme(): void {
  localStorage.setItem(KEY, theme.value === 'dark' ? 'light' : 'dark')
  show()
}
