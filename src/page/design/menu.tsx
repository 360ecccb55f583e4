import './menu.css'
import type { ComponentChildren } from 'preact'
import { useId, useRef } from 'preact/hooks'
import { Icon, type IconName } from './icon.tsx'

export interface MenuItem {
  readonly label: string
  readonly icon?: IconName
  readonly isDanger?: boolean
  readonly disabled?: boolean
  onSelect(): void
}

/**
 * A button that opens a list of actions. Arrow keys move, Escape and a click elsewhere close it.
 * @param props.label names the button; shown unless there are children
 */
export function Menu({
  label,
  items,
  children,
  icon = 'more',
  side = 'below',
}: {
  label: string
  items: readonly MenuItem[]
  children?: ComponentChildren
  icon?: IconName
  side?: 'below' | 'above'
}) {
  const id = useId()
  const button = useRef<HTMLButtonElement>(null)
  const list = useRef<HTMLDivElement>(null)
  const all = () => [...(list.current?.querySelectorAll<HTMLButtonElement>('button:not(:disabled)') ?? [])]
  const place = () => {
    const [anchor, popover] = [button.current, list.current]
    if (anchor === null || popover === null) return
    const box = anchor.getBoundingClientRect()
    const { offsetWidth: width, offsetHeight: height } = popover
    const isAbove = side === 'above' || box.bottom + height + 8 > innerHeight
    popover.style.left = `${Math.max(8, Math.min(box.left, innerWidth - width - 8, side === 'above' ? box.left : box.right - width))}px`
    popover.style.top = `${Math.max(8, isAbove ? box.top - height - 4 : box.bottom + 4)}px`
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const buttons = all()
    const at = buttons.indexOf(document.activeElement as HTMLButtonElement)
    const steps: Record<string, number> = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }
    const next = steps[event.key]
    if (event.key === 'Tab') list.current?.hidePopover()
    if (next === undefined) return
    event.preventDefault()
    buttons.at(next % buttons.length)?.focus()
  }
  return (
    <>
      <button
        ref={button}
        type="button"
        class={children === undefined ? 'icon-button' : 'menu-button'}
        aria-label={children === undefined ? label : undefined}
        title={children === undefined ? label : undefined}
        aria-haspopup="menu"
        popovertarget={id}
      >
        {children ?? <Icon name={icon} />}
      </button>
      <div
        ref={list}
        id={id}
        class="menu"
        role="menu"
        aria-label={label}
        popover="auto"
        onKeyDown={onKeyDown}
        onToggle={(event) => {
          if (event.newState !== 'open') return
          place()
          all()[0]?.focus()
        }}
      >
        {items.map((item) => (
          <button
            key={item.label}
            type="button"
            role="menuitem"
            tabIndex={-1}
            class={item.isDanger === true ? 'menu-item menu-item-danger' : 'menu-item'}
            disabled={item.disabled === true}
            onClick={() => {
              list.current?.hidePopover()
              item.onSelect()
            }}
          >
            {item.icon !== undefined && <Icon name={item.icon} />}
            {item.label}
          </button>
        ))}
      </div>
    </>
  )
}
