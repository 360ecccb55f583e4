import './fold-row.css'
import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import { Icon } from '../../../design/icon.tsx'

/** A one-line row of a list, which opens to show its fields and actions. */
export function FoldRow({
  name,
  figure,
  detail,
  isOpen,
  mayOpen,
  onToggle,
  actions,
  children,
}: {
  name: ComponentChildren
  /** At the end of the line. */
  figure?: ComponentChildren
  detail: ComponentChildren
  isOpen: boolean
  mayOpen: boolean
  onToggle: () => void
  actions: ComponentChildren
  children: ComponentChildren
}) {
  const id = useId()
  return (
    <li class={isOpen ? 'fold fold-open' : 'fold'}>
      <button
        type="button"
        class="fold-line"
        aria-expanded={isOpen}
        aria-controls={isOpen ? id : undefined}
        disabled={!mayOpen}
        onClick={onToggle}
      >
        <span class="fold-name">{name}</span>
        <span class="fold-figure numeric">{figure}</span>
        <span class="fold-detail">{detail}</span>
        {mayOpen && <Icon name={isOpen ? 'up' : 'down'} size={14} />}
      </button>
      {isOpen && (
        <div class="fold-fields" id={id}>
          {children}
          <div class="fold-actions">{actions}</div>
        </div>
      )}
    </li>
  )
}
