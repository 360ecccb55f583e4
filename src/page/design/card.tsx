import './card.css'
import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'

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
