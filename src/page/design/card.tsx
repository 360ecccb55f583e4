/** The parts of a screen: its head, its views, framed cards, and names with values. */
import './card.css'
import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import { hashOf } from '../route/route.ts'
import { useRoute } from '../route/router.ts'

/** A framed part of a screen. `isFlush`: what is inside, such as a table, reaches the frame. */
export function Card({
  title,
  aside,
  children,
  isFlush = false,
}: {
  title?: string
  /** Beside the title: a count, a link, a button. */
  aside?: ComponentChildren
  children: ComponentChildren
  isFlush?: boolean
}) {
  const id = useId()
  return (
    <section class="card" aria-labelledby={title === undefined ? undefined : id}>
      {title !== undefined && (
        <header class="card-header">
          <h2 id={id}>{title}</h2>
          {aside !== undefined && <div class="card-aside">{aside}</div>}
        </header>
      )}
      <div class={isFlush ? 'card-flush' : 'card-body'}>{children}</div>
    </section>
  )
}

/** The head of a screen: its name and its actions, the main one last. */
export function PageHeader({
  title,
  description,
  actions,
}: {
  title: string
  description?: ComponentChildren
  actions?: ComponentChildren
}) {
  return (
    <header class="page-header">
      <div>
        <h1 tabIndex={-1}>{title}</h1>
        {description !== undefined && <p class="page-description">{description}</p>}
      </div>
      {actions !== undefined && <div class="page-actions">{actions}</div>}
    </header>
  )
}

/** Filters above a list. */
export function Toolbar({ children }: { children: ComponentChildren }) {
  return <div class="toolbar">{children}</div>
}

/** Names and values of one thing. An empty value is shown as a dash. */
export function DescriptionList({ items }: { items: readonly (readonly [name: string, value: ComponentChildren])[] }) {
  return (
    <dl class="description-list">
      {items.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value === null || value === undefined || value === '' ? <span class="muted">—</span> : value}</dd>
        </div>
      ))}
    </dl>
  )
}

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
