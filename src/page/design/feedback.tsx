/** What a view says when it has nothing to show: loading, empty, failed. */
import './feedback.css'
import type { ComponentChildren } from 'preact'
import type { Problem } from '../api/problem.ts'
import { Button } from './button.tsx'
import { Card } from './card.tsx'
import { Icon, type IconName } from './icon.tsx'

/** Says what is missing and what to do next. */
export function EmptyState({
  icon,
  title,
  children,
  action,
}: {
  icon?: IconName
  title: string
  children?: ComponentChildren
  action?: ComponentChildren
}) {
  return (
    <div class="empty">
      {icon !== undefined && (
        <span class="empty-icon">
          <Icon name={icon} size={20} />
        </span>
      )}
      <p class="empty-title">{title}</p>
      {children !== undefined && <p class="empty-text">{children}</p>}
      {action}
    </div>
  )
}

/** Grey lines in place of what is being loaded. */
export function Skeleton({ lines = 3 }: { lines?: number | undefined }) {
  return (
    <div class="skeleton" role="status">
      <span class="visually-hidden">Loading</span>
      {Array.from({ length: lines }, (_, line) => (
        <div key={line} class="skeleton-line" />
      ))}
    </div>
  )
}

/** Why something failed, in the service's words. Draws nothing without a problem. */
export function ErrorNote({ problem, onRetry }: { problem: Problem | null; onRetry?: (() => void) | undefined }) {
  if (problem === null) return null
  return (
    <Note tone="bad" role="alert">
      <p>{problem.message}</p>
      {problem.fields.length > 0 && (
        <ul>
          {problem.fields.map(({ field, message }) => (
            <li key={field}>
              {fieldWords(field)}: {message}
            </li>
          ))}
        </ul>
      )}
      {problem.status >= 500 && problem.requestId !== null && (
        <p class="note-aside">
          Request <code>{problem.requestId}</code>
        </p>
      )}
      {onRetry !== undefined && (
        <Button size="s" icon="refresh" onClick={onRetry}>
          Try again
        </Button>
      )}
    </Note>
  )
}

/**
 * Goes above what `useResource` reads: grey lines until it has loaded, or why the last read failed. Draw the data below whenever there
 * is some: it stays when a later read fails.
 */
export function LoadStatus({
  of: { data, error, refresh },
  lines,
  isCard = false,
}: {
  of: { readonly data: unknown; readonly error: Problem | null; refresh(): Promise<void> }
  /** Of the skeleton. */
  lines?: number
  /** Whether the lines need a card around them: what is read will come in its own. */
  isCard?: boolean
}) {
  if (error !== null) return <ErrorNote problem={error} onRetry={refresh} />
  if (data !== undefined) return null
  const skeleton = <Skeleton lines={lines} />
  return isCard ? <Card isFlush>{skeleton}</Card> : skeleton
}

const NOTE_ICONS = { bad: 'warning', warn: 'warning', info: 'info', good: 'check' } as const

/** A message within a view. */
export function Note({
  tone = 'info',
  role,
  children,
}: {
  tone?: keyof typeof NOTE_ICONS
  role?: 'alert' | 'status'
  children: ComponentChildren
}) {
  return (
    <div class={`note note-${tone}`} role={role}>
      <Icon name={NOTE_ICONS[tone]} />
      <div class="note-body">{children}</div>
    </div>
  )
}

/** `Hold hours` for `holdHours`, `Email` for `guest.email`: the message may be about a field that is not on the screen. */
function fieldWords(field: string): string {
  const words = (field.split('.').at(-1) ?? field).replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** In place of actions that the person's role does not allow: says which role does. */
export function RoleNote({ children }: { children: ComponentChildren }) {
  return (
    <p class="role-note">
      <Icon name="info" size={14} />
      <span>{children}</span>
    </p>
  )
}
