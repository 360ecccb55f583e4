import './button.css'
import type { ButtonHTMLAttributes, ComponentChildren } from 'preact'
import { Icon, type IconName } from './icon.tsx'

type Native = Omit<ButtonHTMLAttributes, 'class' | 'icon'>

interface ButtonProps extends Native {
  children: ComponentChildren
  /** `primary`: the one action that a view is for. `quiet`: without a frame. */
  tone?: 'primary' | 'plain' | 'quiet' | 'danger' | undefined
  icon?: IconName | undefined
  /** Shows that it works, and takes no second press. It keeps the focus, which the browser takes from a disabled button. */
  isBusy?: boolean | undefined
  size?: 's' | 'm' | undefined
}

export function Button({ children, tone = 'plain', icon, isBusy = false, size = 'm', ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      class={`button button-${tone} button-${size}`}
      aria-busy={isBusy}
      aria-disabled={isBusy}
      onClick={isBusy ? (event) => event.preventDefault() : rest.onClick}
    >
      {isBusy ? <span class="spinner" aria-hidden="true" /> : icon !== undefined && <Icon name={icon} />}
      <span>{children}</span>
    </button>
  )
}

/** A link that looks like a button. */
export function LinkButton({
  children,
  href,
  tone = 'plain',
  icon,
  target,
}: {
  children: ComponentChildren
  href: string
  tone?: ButtonProps['tone']
  icon?: IconName
  target?: '_blank' | undefined
}) {
  return (
    <a class={`button button-${tone} button-m`} href={href} target={target}>
      {icon !== undefined && <Icon name={icon} />}
      <span>{children}</span>
    </a>
  )
}

/** A button that shows only an icon; `label` is its name and its tooltip. */
export function IconButton({ label, icon, ...rest }: Native & { label: string; icon: IconName }) {
  return (
    <button type="button" title={label} {...rest} class="icon-button" aria-label={label}>
      <Icon name={icon} />
    </button>
  )
}
