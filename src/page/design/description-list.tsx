import './description-list.css'
import type { ComponentChildren } from 'preact'

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
