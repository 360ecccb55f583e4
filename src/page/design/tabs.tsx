import './tabs.css'
import { hashOf } from '../route/route.ts'
import { useRoute } from '../route/router.ts'

/**
 * Views of one screen, as links: the chosen one is in the address, as `?tab=…`. The first is the one without it.
 * The screen draws the view itself: `useTab(tabs)`.
 */
export function Tabs({ label, tabs }: { label: string; tabs: readonly { key: string; label: string }[] }) {
  const { path, query } = useRoute()
  const current = useTab(tabs)
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map((tab, index) => (
        <a
          key={tab.key}
          class="tab"
          href={hashOf(path, { ...query, tab: index === 0 ? null : tab.key })}
          aria-current={tab.key === current ? 'page' : undefined}
        >
          {tab.label}
        </a>
      ))}
    </nav>
  )
}

/** The key of the tab in the address. */
export function useTab(tabs: readonly { key: string }[]): string {
  const { query } = useRoute()
  return tabs.find(({ key }) => key === query['tab'])?.key ?? tabs[0]?.key ?? ''
}
