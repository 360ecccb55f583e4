import './role-note.css'
import type { ComponentChildren } from 'preact'
import { Icon } from './icon.tsx'

/** In place of actions that the person's role does not allow: says which role does. */
export function RoleNote({ children }: { children: ComponentChildren }) {
  return (
    <p class="role-note">
      <Icon name="info" size={14} />
      <span>{children}</span>
    </p>
  )
}
